#pragma once

#include <cstdint>
#include <span>

#include <rankfall/matrix.h>

// Measures of an attention matrix P, rows stochastic (math.md 6). `valid` has a byte per token, zero for padding, whose
// rows and columns are both left out; empty means all count. Sums are in double. Thread-safe. Defined for float,
// double.

namespace rankfall {

struct AttentionMeasures {
  double entropy = 0;  // row_entropy, mean over rows
  double sink = 0;     // mass on the first token, mean over rows
  double sigma1 = 0;   // the two largest singular values; sigma2 = 0 for one token
  double sigma2 = 0;
  double rank1_distance = 0;  // sigma2 / sigma1: 0 when all rows are equal
  double dobrushin = 0;
};

// All zero without valid tokens. Non-finite entries throw Error kNumerical.  Cost: O(n^3).
template <class T>
AttentionMeasures attention_measures(const MatrixRef<T>& p, std::span<const std::uint8_t> valid);

// -sum_j p_j log p_j in nats, 0 log 0 = 0. Rounding in p may make it less than 0, which is returned as 0. NaN gives
// NaN.
double row_entropy(const RowVectorRef<double>& p);

// max over pairs of rows of sum_j |p_ij - p_kj| / 2: 0 when all rows are equal, 1 when two have disjoint support. 0 for
// fewer than two rows. NaN gives NaN.  Cost: n^2 m / 2 subtractions; rows in parallel.
template <class T>
double dobrushin(const MatrixRef<T>& p);

}  // namespace rankfall
