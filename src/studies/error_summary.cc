#include "studies/error_summary.h"

#include <algorithm>
#include <cmath>

namespace rankfall {

void ErrorSummary::add(double error) {
  ++n_;
  largest_ = std::max(largest_, error);
  const double place = error > 0 ? (std::log2(error) - kLowest) * kPerOctave : -1;
  if (place < 0) {
    ++zeros_;
  } else {
    ++counts_[std::min(static_cast<std::size_t>(place), counts_.size() - 1)];
  }
}

void ErrorSummary::merge(const ErrorSummary& other) {
  n_ += other.n_;
  zeros_ += other.zeros_;
  largest_ = std::max(largest_, other.largest_);
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

double ErrorSummary::median() const {
  std::int64_t left = n_ / 2 - zeros_;
  if (left < 0) return 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    left -= counts_[i];
    if (left < 0) return std::exp2((static_cast<double>(i) + 0.5) / kPerOctave + kLowest);
  }
  return largest_;
}

}  // namespace rankfall
