#pragma once

#include <array>
#include <cstdint>

#include <rankfall/index.h>

namespace rankfall {

// Largest and median of many errors >= 0 without keeping them: counts by size, 32 classes to an octave, so the median
// is right to 1.1 %.
class ErrorSummary {
 public:
  void add(double error);
  void merge(const ErrorSummary& other);

  Index n() const { return n_; }
  double largest() const { return largest_; }
  double median() const;

 private:
  static constexpr int kPerOctave = 32;
  static constexpr int kLowest = -200;  // 2^-200 and below counts as 0
  static constexpr int kHighest = 24;

  std::array<std::int64_t, (kHighest - kLowest) * kPerOctave> counts_{};
  std::int64_t zeros_ = 0;
  Index n_ = 0;
  double largest_ = 0;
};

}  // namespace rankfall
