#include "text/regex.h"

#include <fmt/format.h>
#include <unicode/regex.h>
#include <unicode/utext.h>

#include "base/errors.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

constexpr std::size_t kMaxPattern = 10'000;
constexpr std::int32_t kStackLimit = 64 * (1 << 20);  // bytes
// In units of the budget. ICU calls back after 10,000 steps of some 40 ns each, and at every place where it tries a
// match.
constexpr std::uint64_t kWorkPerCall = 40'000;
constexpr std::uint64_t kWorkPerPlace = 64;
constexpr std::uint64_t kWorkPerMatcher = 32;  // to set one up

// ICU hands contexts on as pointers to const; this one leads to a budget that is not.
TextBudget& budget_of(const void* context) { return **static_cast<TextBudget* const*>(context); }
UBool spend_steps(const void* context, std::int32_t) {
  return static_cast<UBool>(budget_of(context).try_long_work(kWorkPerCall));
}
// One step may go over the whole text (a*+), so steps alone do not tell the time.
UBool spend_place(const void* context, std::int64_t) {
  return static_cast<UBool>(budget_of(context).try_work(kWorkPerPlace));
}

}  // namespace

struct Regex::Impl {
  std::unique_ptr<icu::RegexPattern> pattern;
  std::string where;

  void check(UErrorCode error, const char* what) const {
    if (U_FAILURE(error)) throw input_error("{}: {}: {}", where, what, u_errorName(error));
  }
};

Regex::Regex(std::string_view pattern, std::string_view where) : impl_(std::make_unique<Impl>()) {
  impl_->where = std::string(where);
  if (pattern.size() > kMaxPattern) {
    throw input_error("{}: a pattern of {} bytes, expected at most {}", where, pattern.size(), kMaxPattern);
  }
  UErrorCode error = U_ZERO_ERROR;
  UParseError place;
  const auto text =
      icu::UnicodeString::fromUTF8(icu::StringPiece(pattern.data(), static_cast<std::int32_t>(pattern.size())));
  impl_->pattern.reset(icu::RegexPattern::compile(text, 0, place, error));
  impl_->check(error, fmt::format("pattern {}", in_quotes(pattern)).c_str());
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::vector<std::pair<std::size_t, std::size_t>> Regex::find_all(std::string_view text, TextBudget& budget) const {
  budget.work(kWorkPerMatcher + 4 * text.size());
  TextBudget* const spending = &budget;
  std::vector<std::pair<std::size_t, std::size_t>> found;
  UErrorCode error = U_ZERO_ERROR;
  UText bytes = UTEXT_INITIALIZER;
  utext_openUTF8(&bytes, text.data(), static_cast<std::int64_t>(text.size()), &error);
  {
    const std::unique_ptr<icu::RegexMatcher> matcher(impl_->pattern->matcher(error));
    impl_->check(error, "matching");
    matcher->setMatchCallback(spend_steps, &spending, error);
    matcher->setFindProgressCallback(spend_place, &spending, error);
    matcher->setStackLimit(kStackLimit, error);
    matcher->reset(&bytes);
    while (U_SUCCESS(error) && matcher->find(error)) {
      const auto first = static_cast<std::size_t>(matcher->start64(error));
      const auto end = static_cast<std::size_t>(matcher->end64(error));
      if (end > first) found.emplace_back(first, end);
    }
  }
  utext_close(&bytes);
  if (error == U_REGEX_STOPPED_BY_CALLER) budget.fail_work();
  impl_->check(error, "matching");
  return found;
}

}  // namespace rankfall
