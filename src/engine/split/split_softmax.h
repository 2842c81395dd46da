#pragma once

#include "engine/split/split_logits.h"
#include <rankfall/matrix.h>

// Softmax of logits r_j + E_ij as 1 q^T + D, q = softmax(r).

namespace rankfall {

// q = softmax(r) over the keys that are no padding, and how it acts.
struct Reference {
  RowVector<double> r, q;
  Index peak = 0;          // j*, where q is largest
  RowVector<double> rest;  // q_j e^-log_rest for j != j*, 0 there: right even where q_j underflows
  double log_rest = 0;
};

// Takes padding out of r, and brings the rest about its mean: a constant changes no softmax.
void centre(const Projections& p, ScaledRow& r);

Reference reference_of(const Projections& p, const RowVector<double>& r);

// q^T V. Where the rows of V sum to zero it is (q - 1/n)^T V, which keeps its digits when r is small.
ScaledRow mean_of_values(const Projections& p, const ScaledRow& r, const Reference& reference, const ScaledMatrix& v);

// D for queries that all see every key; its rows sum to zero. q = softmax(r).
RowVector<double> softmax_row(const RowVector<double>& r);
ScaledMatrix whole_deviations(ScaledMatrix e, const RowVector<double>& q, const RowVector<double>& r);
// Sets column `peak` so that each row sums to zero: the largest entry of q is where rounding would show in the sum.
void close_rows(Matrix<double>& d, Index peak);

// Rows of D without column j*, whose part is in the differences V_j - V_j* that D is multiplied by.
class Deviations {
 public:
  Deviations(const Projections& p, Index head, const Reference& reference) : p_(p), head_(head), q_(reference) {}

  // From rows first.. of E.
  ScaledMatrix from(Index first, ScaledMatrix e) const;

 private:
  using MatrixRow = Eigen::Ref<RowVector<double>>;
  void small_row(double size, MatrixRow row) const;
  double large_row(Index i, double size, const double* whole, MatrixRow row) const;
  double direct_row(Index i, bool sees_peak, const double* whole, MatrixRow row) const;

  const Projections& p_;
  Index head_;
  const Reference& q_;
};

}  // namespace rankfall
