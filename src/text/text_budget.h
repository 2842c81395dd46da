#pragma once

#include <cstddef>
#include <cstdint>

namespace rankfall {

// What tokenising one text may cost, whatever the tokenizer's files ask for: the only place that decides it. Every
// stage spends from the same budget while it works; when it is used up, Error (kInput) ends the text.
//
// Work is counted, not timed, so that the outcome is the same on every machine: a unit is about 10 ns. Short matches
// cannot be counted (ICU tells of every 10,000th step only), so processor time is a second, much wider limit. Ordinary
// tokenizers use less than a fifth of either.
class TextBudget {
 public:
  static constexpr std::uint64_t kWork = 50'000'000;           // units for any text,
  static constexpr std::uint64_t kWorkPerByte = 600;           // and for each of its bytes
  static constexpr std::size_t kBytes = std::size_t{1} << 20;  // of text at any stage, and
  static constexpr std::size_t kBytesPerByte = 16;
  static constexpr double kSeconds = 10;  // of processor time, and
  static constexpr double kSecondsPerMebibyte = 10;

  explicit TextBudget(std::size_t text_bytes = 0);

  void work(std::uint64_t units) {
    if (!try_work(units)) fail_work();
  }
  // False when it is used up, for callers that must not throw.
  bool try_work(std::uint64_t units) {
    units_ += units;
    return units_ < next_look_ || look();
  }
  // The same, and looks at the clock in any case: for work of which a unit may take long.
  bool try_long_work(std::uint64_t units) {
    units_ += units;
    return look();
  }
  // A stage holds so many bytes of text.
  void hold(std::size_t bytes) const {
    if (bytes > max_bytes_) fail_bytes(bytes);
  }
  double spent() const { return static_cast<double>(units_) / static_cast<double>(max_units_); }  // share of the work

  [[noreturn]] void fail_work() const;

 private:
  bool look();  // compares with both limits
  [[noreturn]] void fail_bytes(std::size_t bytes) const;

  std::uint64_t units_ = 0, max_units_, next_look_ = 0;
  std::size_t text_bytes_, max_bytes_;
  double began_ = -1, max_seconds_;
};

}  // namespace rankfall
