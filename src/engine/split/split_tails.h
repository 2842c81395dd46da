#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/dense/activation.h"
#include "engine/split/scaled.h"
#include <rankfall/split.h>

// Activations so far out in a tail that they, or their slopes, are smaller than any double. There f(x) = p(x) e^L(x),
// up to a constant, and the common scale e^L of a state's entries goes into its logarithm.
//
// A tail is a struct with far(x), whether x is in it, L(x), p(x) and their divided differences between a and a + e.
// The tails begin where e^L is some 1e-250: above, double has all digits.

namespace rankfall {

// x Phi(x) = -density(x) S(1/x^2), S the asymptotic series of the normal distribution's tail.
struct GeluTail {
  static constexpr bool kSmallValue = true;
  static bool far(double x) { return x < -34; }
  static double log(double x) { return -0.5 * x * x; }
  static double p(double x) { return -kInverseRootTwoPi * series(1 / (x * x), 1 / (x * x)).value; }
  static double log_slope(double a, double e) { return -(a + 0.5 * e); }
  static double p_slope(double a, double e) {
    const double b = a + e;
    const double u_slope = -(a + b) / (a * a * b * b);  // of 1/x^2
    return -kInverseRootTwoPi * u_slope * series(1 / (a * a), 1 / (b * b)).slope;
  }

 private:
  static constexpr double kInverseRootTwoPi = 0.39894228040143267794;
  struct Series {
    double value, slope;
  };
  // S(u) and (S(v) - S(u)) / (v - u). Eight terms: the next is 2e-18 where the tail begins.
  static Series series(double u, double v) {
    constexpr std::array<double, 8> kTerms = {1, -1, 3, -15, 105, -945, 10395, -135135};
    double value = 0;
    double slope = 0;
    for (std::size_t k = kTerms.size(); k-- > 0;) {
      slope = slope * v + value;
      value = value * u + kTerms[k];
    }
    return {value, slope};
  }
};

// The factor in g of activation_impl.h, of the three forms.
struct TanhRoot {
  static double value() { return std::sqrt(2 / 3.14159265358979323846); }
};
struct BloomRoot {
  static double value() { return kBloomRoot; }
};
struct FastRoot {
  static double value() { return kFastRoot; }
};

// x logistic(2 g(x)) = x e^(2 g(x)), g as in activation_impl.h.
template <class Root>
struct GeluTanhTail {
  static constexpr bool kSmallValue = true;
  static bool far(double x) { return x < -20; }
  static double log(double x) { return 2 * Root::value() * (x + kCubic * x * x * x); }
  static double p(double x) { return x; }
  static double log_slope(double a, double e) { return 2 * Root::value() * (1 + kCubic * (3 * a * (a + e) + e * e)); }
  static double p_slope(double, double) { return 1; }

 private:
  static constexpr double kCubic = 0.044715;
};

// x logistic(x) = x e^x.
struct SiluTail {
  static constexpr bool kSmallValue = true;
  static bool far(double x) { return x < -580; }
  static double log(double x) { return x; }
  static double p(double x) { return x; }
  static double log_slope(double, double) { return 1; }
  static double p_slope(double, double) { return 1; }
};

// tanh x = +-(1 - 2 e^(-2 |x|)): the slope is small, the value is not.
struct TanhTail {
  static constexpr bool kSmallValue = false;
  static bool far(double x) { return std::abs(x) > 290; }
  static double log(double x) { return -2 * std::abs(x); }
  static double p(double x) { return x > 0 ? -2 : 2; }
  static double log_slope(double a, double) { return a > 0 ? -2 : 2; }
  static double p_slope(double, double) { return 0; }
};

// (f(a + e) - f(a)) / e in units of e^unit; f(0) = 0.
template <class Tail>
double far_slope(double a, double e, double unit) {
  const double b = a + e;
  const double rise = e * Tail::log_slope(a, e);
  if (a != 0 && std::abs(rise) <= 1) {
    const double slope = Tail::p_slope(a, e) + Tail::p(b) * Tail::log_slope(a, e) * expm1_ratio(rise);
    return slope * std::exp(Tail::log(a) - unit);
  }
  const double from = a == 0 ? 0.0 : Tail::p(a) * std::exp(Tail::log(a) - unit);
  return (Tail::p(b) * std::exp(Tail::log(b) - unit) - from) / e;
}

// The residual of f(x), where every entry that it has goes from one place far out on one side, or from zero, to
// another; whether it is so.
template <class Tail>
bool activate_far_residual(const SplitState& x, ScaledMatrix& out) {
  const RowVector<double> mean = plain(x.mean);
  const double size = share(x.residual.log, 0);
  const Matrix<double>& r = x.residual.value;
  double unit = kLogZero;
  for (Index i = 0; i < r.rows(); ++i) {
    for (Index j = 0; j < r.cols(); ++j) {
      if (r(i, j) == 0) continue;
      const double a = mean(j);
      const double b = a + size * r(i, j);
      if (!Tail::far(b)) return false;
      const bool from_zero = Tail::kSmallValue && a == 0;
      if (!from_zero && (!Tail::far(a) || std::signbit(a) != std::signbit(b))) return false;
      unit = std::max(unit, Tail::log(b));
      if (a != 0) unit = std::max(unit, Tail::log(a));
    }
  }
  if (unit == kLogZero) return false;
  out = x.residual;
  for (Index i = 0; i < r.rows(); ++i) {
    for (Index j = 0; j < r.cols(); ++j) {
      if (r(i, j) != 0) out.value(i, j) *= far_slope<Tail>(mean(j), size * r(i, j), unit);
    }
  }
  out.log += unit;
  rescale(out);
  return true;
}

// The same for the mean.
template <class Tail>
bool activate_far_mean(const SplitState& x, ScaledRow& out) {
  if (!Tail::kSmallValue || x.mean.is_zero()) return false;
  const double mean_share = share(x.mean.log, 0);
  double unit = kLogZero;
  for (const double value : x.mean.value) {
    if (value == 0) continue;
    if (!Tail::far(mean_share * value)) return false;
    unit = std::max(unit, Tail::log(mean_share * value));
  }
  if (unit == kLogZero) return false;
  out = x.mean;
  for (double& value : out.value) {
    const double a = mean_share * value;
    if (value != 0) value = Tail::p(a) * std::exp(Tail::log(a) - unit);
  }
  out.log = unit;
  rescale(out);
  return true;
}

}  // namespace rankfall
