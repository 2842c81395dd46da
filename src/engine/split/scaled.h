#pragma once

#include <algorithm>
#include <cmath>

#include <rankfall/matrix.h>
#include <rankfall/split.h>

// Arithmetic of Scaled values: two parts are added at the larger of their scales.

namespace rankfall {

inline constexpr double kLogZero = -std::numeric_limits<double>::infinity();
inline constexpr double kLog2 = 0.693147180559945309417;

template <class M>
void set_zero(Scaled<M>& x) {
  x.value.setZero();
  x.log = kLogZero;
}

// The largest entry comes into [1, 2) by a power of two, which rounds nothing. NaN and infinity stay as they are.
template <class M>
void rescale(Scaled<M>& x) {
  const double largest = x.value.size() == 0 ? 0.0 : x.value.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
  if (!std::isfinite(largest)) {
    if (x.is_zero()) x.log = 0;
    return;
  }
  if (largest == 0 || x.is_zero()) return set_zero(x);
  const int exponent = std::ilogb(largest);
  if (exponent == 0) return;
  const int half = exponent / 2;  // 2^-exponent itself may be too large for a double
  x.value *= std::ldexp(1.0, -half);
  x.value *= std::ldexp(1.0, half - exponent);
  x.log += exponent * kLog2;
}

// log x, and log(e^a + e^b), where zero has the logarithm -infinity.
inline double log_or_zero(double x) { return x > 0 ? std::log(x) : kLogZero; }

// e^(log - top), 0 for zero.
inline double share(double log, double top) { return log == kLogZero ? 0.0 : std::exp(log - top); }

inline double log_sum(double a, double b) {
  const double top = std::max(a, b);
  return top == kLogZero ? kLogZero : top + std::log(share(a, top) + share(b, top));
}

// x := fx x + fy y.
template <class M>
void add(Scaled<M>& x, double fx, const Scaled<M>& y, double fy) {
  const double x_log = fx == 0 ? kLogZero : x.log;
  const double y_log = fy == 0 ? kLogZero : y.log;
  const double top = std::max(x_log, y_log);
  if (top == kLogZero) return set_zero(x);
  const double x_share = fx * share(x_log, top);
  const double y_share = fy * share(y_log, top);
  if (x_share != 1) x.value *= x_share;
  if (y_share != 0) x.value += y_share * y.value;
  x.log = top;
  rescale(x);
}

template <class M>
void add(Scaled<M>& x, const Scaled<M>& y) {
  add(x, 1, y, 1);
}

// (e^y - 1) / y.
inline double expm1_ratio(double y) { return std::abs(y) < 1e-9 ? 1 + 0.5 * y : std::expm1(y) / y; }

// Plain numbers, what is too small becoming zero.
template <class M>
M plain(const Scaled<M>& x) {
  if (x.is_zero()) return M::Zero(x.value.rows(), x.value.cols());
  return std::exp(x.log) * x.value;
}

template <class M>
Scaled<M> scaled(M value, double log = 0) {
  Scaled<M> x{std::move(value), log};
  rescale(x);
  return x;
}

}  // namespace rankfall
