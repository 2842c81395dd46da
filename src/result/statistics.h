#pragma once

#include <optional>

#include <rankfall/index.h>
#include <rankfall/result.h>

namespace rankfall {

// Mean and unbiased standard deviation of values added one by one (Welford). The outcome depends on the order of the
// calls to within rounding, so callers add in index order.
// One value that is not finite makes mean and std absent for good. Not thread-safe.
class Statistics {
 public:
  void add(double value);

  Index n() const { return n_; }
  std::optional<double> mean() const;  // absent for n = 0
  std::optional<double> std() const;   // absent for n < 2

 private:
  Index n_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of (value - mean)^2
};

// A row's mean, std and n.
void set(Row& row, const Statistics& statistics);

// What became of a row's value, and the same in words.
void set_status(Row& row, Status status, Prose words);

// Says that the compute precision cannot tell a row's value from zero.
void set_rounding_floor(Row& row);

}  // namespace rankfall
