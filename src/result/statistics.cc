#include "result/statistics.h"

#include <cmath>

namespace rankfall {

// NaN and infinity need no flag: mean_ becomes NaN or infinite with the first such value, and no later arithmetic
// (mean + (x - mean) / n) makes it finite again.
void Statistics::add(double value) {
  ++n_;
  const double delta = value - mean_;
  mean_ += delta / static_cast<double>(n_);
  squares_ += delta * (value - mean_);
}

void Statistics::merge(const Statistics& other) {
  if (other.n_ == 0) return;
  if (n_ == 0) {
    *this = other;
    return;
  }
  const auto mine = static_cast<double>(n_), theirs = static_cast<double>(other.n_);
  const double share = theirs / (mine + theirs);
  const double delta = other.mean_ - mean_;
  mean_ += delta * share;
  squares_ += other.squares_ + delta * delta * mine * share;
  n_ += other.n_;
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

void set_rounding_floor(Row& row) {
  row.status = Status::kRoundingFloor;
  row.verdict = "rounding floor";
}

}  // namespace rankfall
