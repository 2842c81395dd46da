#pragma once

#include <cstdint>
#include <span>

#include <rankfall/matrix.h>

// The true residual: min over x of ||X - 1 x^T|| (math.md 1), with a proof of how far the value found can be from it.

namespace rankfall {

// lower <= min <= value.
struct Minimum {
  double value = 0;  // of the best x found
  double lower = 0;

  double gap() const { return value == 0 ? 0 : 1 - lower / value; }
};

struct MinimisedNorms {
  Minimum one, inf, composite, frobenius;  // one and frobenius are exact
};

struct MinimiserOptions {
  double gap = 0.01;         // stop when value and lower differ by this share
  Index max_rounds = 2'000;  // of weights, for inf and for composite each, more where they are cheap; then the gap is
                             // what it is
};

// one: column medians. frobenius: column means. inf: a game between x and weights of the rows, whose value is at least
// sum_ij lambda_i |X_ij - m_j| with m_j the weighted median of column j. composite: sqrt(f g) = min_t (t f + g/t)/2,
// the same game with weights of rows and columns for each t, over a grid in log t that is refined where the minimum can
// be. `valid` as in norms.h. All zero without valid rows. Requires finite entries.  Cost: O(n d) a round, O(n d log n)
// once.
template <class T>
MinimisedNorms minimised_norms(const MatrixRef<T>& x, std::span<const std::uint8_t> valid,
                               const MinimiserOptions& options = {});

}  // namespace rankfall
