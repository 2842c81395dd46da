#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/split/scaled.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include <rankfall/split.h>

namespace rankfall {

// Logarithm of the Frobenius norm; -infinity for zero.
inline double log_frobenius(const ScaledMatrix& m) {
  const double norm = norms<double>(m.value).frobenius;
  return norm == 0 ? kLogZero : m.log + std::log(norm);
}

// What is no padding of a state, as 1 mean + R with the rows of R summing to zero, however much the tokens differ.
struct CentredState {
  std::vector<Index> rows;
  ScaledRow mean;
  ScaledMatrix r;

  Index n() const { return r.value.rows(); }
};

inline CentredState centred_state(const SplitState& in, std::span<const std::uint8_t> valid) {
  CentredState x{valid_rows(in.residual.value.rows(), valid), in.mean, {}};
  x.r = {in.residual.value(x.rows, Eigen::all), in.residual.log};
  const RowVector<double> first = x.r.value.row(0);
  x.r.value.rowwise() -= first;
  const RowVector<double> shift = x.r.value.colwise().mean();
  x.r.value.rowwise() -= shift;
  add(x.mean, scaled<RowVector<double>>(first + shift, x.r.log));
  rescale(x.r);
  return x;
}

}  // namespace rankfall
