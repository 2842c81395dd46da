#include "text/text_budget.h"

#include <ctime>

#include "base/errors.h"

namespace rankfall {
namespace {

constexpr std::uint64_t kUnitsBetweenLooks = 1 << 16;

double seconds_of_this_thread() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

TextBudget::TextBudget(std::size_t text_bytes)
    : max_units_(kWork + kWorkPerByte * text_bytes),
      text_bytes_(text_bytes),
      max_bytes_(kBytes + kBytesPerByte * text_bytes),
      max_seconds_(kSeconds + kSecondsPerMebibyte * static_cast<double>(text_bytes) / (1 << 20)) {}

bool TextBudget::look() {
  if (units_ > max_units_) return false;
  next_look_ = units_ + kUnitsBetweenLooks;
  const double now = seconds_of_this_thread();
  if (began_ < 0) began_ = now;
  return now - began_ <= max_seconds_;
}

void TextBudget::fail_work() const {
  throw input_error(
      "tokenising a text of {} bytes takes too long with this tokenizer (more than {} units of work, or "
      "{:.0f} seconds of processor time); one of its patterns or tokens may be unsound. Token ids from "
      "elsewhere can be "
      "given instead (InputOptions::ids)",
      text_bytes_, max_units_, max_seconds_);
}

void TextBudget::fail_bytes(std::size_t bytes) const {
  throw input_error(
      "tokenising makes {} bytes of a text of {}, expected at most {}; one of the tokenizer's replacements "
      "multiplies it. Token ids from elsewhere can be given instead (InputOptions::ids)",
      bytes, text_bytes_, max_bytes_);
}

}  // namespace rankfall
