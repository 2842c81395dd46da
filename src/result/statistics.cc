#include "result/statistics.h"

#include <cmath>
#include <utility>

namespace rankfall {

// NaN and infinity need no flag: mean_ becomes NaN or infinite with the first such value, and no later arithmetic
// (mean + (x - mean) / n) makes it finite again.
void Statistics::add(double value) {
  ++n_;
  const double delta = value - mean_;
  mean_ += delta / static_cast<double>(n_);
  squares_ += delta * (value - mean_);
}

std::optional<double> Statistics::mean() const {
  if (n_ == 0 || !std::isfinite(mean_)) return std::nullopt;
  return mean_;
}

std::optional<double> Statistics::std() const {
  if (n_ < 2 || !std::isfinite(mean_) || !std::isfinite(squares_)) return std::nullopt;
  return std::sqrt(squares_ / static_cast<double>(n_ - 1));
}

void set(Row& row, const Statistics& statistics) {
  row.mean = statistics.mean();
  row.std = statistics.std();
  row.n = statistics.n();
}

void set_status(Row& row, Status status, Prose words) {
  row.status = status;
  row.verdict = std::move(words);
}

void set_rounding_floor(Row& row) { set_status(row, Status::kRoundingFloor, "rounding floor"); }

}  // namespace rankfall
