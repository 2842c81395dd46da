#include "engine/split/split_activation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/parallel.h"
#include "engine/split/scaled.h"
#include "engine/split/split_tails.h"
#include "linalg/linear.h"

namespace rankfall {
namespace {

constexpr double kRootHalf = 0.70710678118654752440;
constexpr double kInverseRootTwoPi = 0.39894228040143267794;

// Normal distribution, right in both tails.
double cdf(double x) { return 0.5 * std::erfc(-x * kRootHalf); }
double density(double x) { return kInverseRootTwoPi * std::exp(-0.5 * x * x); }
double logistic(double x) {
  const double e = std::exp(-std::abs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// tanh(x) / x.
double tanh_ratio(double x) {
  const double y = x * x;
  if (y < 1e-4) return 1 - y / 3 * (1 - 0.4 * y * (1 - 17.0 / 42 * y));
  return std::tanh(x) / x;
}

// (tanh(a + x) - tanh a) / x.
struct TanhDifference {
  double a, tanh_a, slope;

  explicit TanhDifference(double at) : a(at), tanh_a(std::tanh(at)), slope(1 / std::cosh(at) / std::cosh(at)) {}
  double operator()(double x) const {
    if (std::abs(x) <= 0.5) {  // the addition theorem
      const double ratio = tanh_ratio(x);
      return ratio * slope / (1 + tanh_a * ratio * x);
    }
    // tanh y = 2 logistic(2y) - 1 = 1 - 2 logistic(-2y): the one that is right in the tail.
    const double b = a + x;
    const double sign = a > 0 && b > 0 ? -1 : 1;
    return sign * 2 * (logistic(sign * 2 * b) - logistic(sign * 2 * a)) / x;
  }
};

// Each activation is a struct made from a, one column's mean, with value() = act(a)/a and difference(e) = (act(a+e) -
// act(a))/e. All have act(0) = 0, so that act(a) = a value() keeps its digits when a is smaller than any double.

struct IdentityAt {
  explicit IdentityAt(double) {}
  double value() const { return 1; }
  double difference(double) const { return 1; }
};

// (to() - from) / e, if little cancels in it; tried for large increments only, since smaller ones change little.
std::optional<double> direct_difference(double from, const auto& to, double e) {
  if (std::abs(e) <= 0.5) return std::nullopt;
  const double there = to();
  const double change = there - from;
  if (std::abs(change) < 0.5 * std::max(std::abs(from), std::abs(there))) return std::nullopt;
  return change / e;
}

// Exact piece by piece; scale does not matter, so both numbers may be given in any common unit.
struct ReluAt {
  double a;
  explicit ReluAt(double at) : a(at) {}
  double value() const { return a > 0 ? 1 : 0; }
  double difference(double e) const {
    if (a == 0) return e > 0 ? 1 : 0;
    const double b = a + e;
    if (a > 0) return b >= 0 ? 1 : -a / e;
    return b <= 0 ? 0 : b / e;
  }
};

// x Phi(x): the difference is Phi(a) + (a + e) (Phi(a + e) - Phi(a)) / e.
struct GeluAt {
  static constexpr int kTerms = 11;
  double a, phi, reach;
  std::array<double, kTerms> series;  // (Phi(a + e) - Phi(a)) / e = sum_k series[k] e^k

  explicit GeluAt(double at) : a(at), phi(cdf(at)), reach(1 + std::abs(at)), series() {
    // The k-th derivative of the density is (-1)^k He_k density; He_{k+1} = a He_k - k He_{k-1}.
    const double p = density(a);
    if (p == 0) return;
    double before = 0;
    double hermite = 1;
    double factor = 1;  // (-1)^k / (k + 1)!
    for (int k = 0; k < kTerms; ++k) {
      series[static_cast<std::size_t>(k)] = factor * hermite * p;
      const double next = a * hermite - k * before;
      before = hermite;
      hermite = next;
      factor /= -(k + 2);
    }
  }

  double value() const { return phi; }
  double difference(double e) const {
    if (const auto direct = direct_difference(
            a * phi, [&] { return (a + e) * cdf(a + e); }, e))
      return *direct;
    return phi + (a + e) * cdf_difference(e);
  }

 private:
  double cdf_difference(double e) const {
    const double x = std::abs(e) * reach;
    if (x <= 0.1) {  // x^k/(k+1)! < 1e-17 from k = 11 on, and sooner for less
      const int n = x < 1e-16 ? 1 : x < 1e-8 ? 2 : x < 1e-4 ? 4 : kTerms;
      double sum = 0;
      for (int k = n - 1; k >= 0; --k) sum = sum * e + series[static_cast<std::size_t>(k)];
      return sum;
    }
    if (x <= 0.7) return gauss_legendre(e);
    // Far enough apart; in the upper tail the complements are.
    const double b = a + e;
    if (a > 0 && b > 0) return (cdf(-a) - cdf(-b)) / e;
    return (cdf(b) - phi) / e;
  }

  // Seven points: the error is below 1e-21 of the density where |e| (1 + |a|) <= 0.7.
  double gauss_legendre(double e) const {
    struct Node {
      double x, weight;
    };
    constexpr std::array<Node, 4> kNodes = {{{0.0, 0.41795918367346938776},
                                             {0.40584515137739716691, 0.38183005050511894495},
                                             {0.74153118559939443986, 0.27970539148927666790},
                                             {0.94910791234275852453, 0.12948496616886969327}}};
    double sum = kNodes[0].weight * density(a + 0.5 * e);
    for (std::size_t k = 1; k < kNodes.size(); ++k) {
      sum += kNodes[k].weight * (density(a + 0.5 * (1 + kNodes[k].x) * e) + density(a + 0.5 * (1 - kNodes[k].x) * e));
    }
    return 0.5 * sum;
  }
};

// x (1 + tanh g(x)) / 2 with g as in activation_impl.h; (1 + tanh g) / 2 = logistic(2 g).
template <class Root>
struct GeluTanhAt {
  double a, phi;
  TanhDifference tanh_from;

  explicit GeluTanhAt(double at) : a(at), phi(logistic(2 * inner(at))), tanh_from(inner(at)) {}
  double value() const { return phi; }
  double difference(double e) const {
    if (const auto direct = direct_difference(
            a * phi, [&] { return (a + e) * logistic(2 * inner(a + e)); }, e))
      return *direct;
    if (std::abs(e) > 8) return ((a + e) * logistic(2 * inner(a + e)) - a * phi) / e;
    const double chord = Root::value() * (1 + kCubic * (3 * a * (a + e) + e * e));  // (g(a+e) - g(a)) / e
    return phi + 0.5 * (a + e) * chord * tanh_from(chord * e);
  }

 private:
  static constexpr double kCubic = 0.044715;
  static double inner(double x) { return Root::value() * (x + kCubic * x * x * x); }
};

// x logistic(x), logistic(x) = (1 + tanh(x/2)) / 2.
struct SiluAt {
  double a, sigma;
  TanhDifference tanh_from;

  explicit SiluAt(double at) : a(at), sigma(logistic(at)), tanh_from(0.5 * at) {}
  double value() const { return sigma; }
  double difference(double e) const {
    if (const auto direct = direct_difference(
            a * sigma, [&] { return (a + e) * logistic(a + e); }, e))
      return *direct;
    return sigma + 0.25 * (a + e) * tanh_from(0.5 * e);
  }
};

struct TanhAt {
  TanhDifference tanh_from;

  explicit TanhAt(double at) : tanh_from(at) {}
  double value() const { return tanh_ratio(tanh_from.a); }
  double difference(double e) const { return tanh_from(e); }
};

// unit: the logarithm of the common unit in which means and increments are handed over; 0 unless scale does not matter.
template <class At>
void activate_with(SplitState& x, double unit) {
  const double mean_share = share(x.mean.log, unit);
  const double residual_share = share(x.residual.log, unit);
  Matrix<double>& r = x.residual.value;
  parallel_for(n_panels(r.cols()), [&](Index panel) {
    const Index first = panel * kPanelColumns;
    const Index width = std::min(kPanelColumns, r.cols() - first);
    std::vector<At> at;
    at.reserve(static_cast<std::size_t>(width));
    for (Index c = 0; c < width; ++c) at.emplace_back(mean_share * x.mean.value(first + c));
    for (Index i = 0; i < r.rows(); ++i) {
      double* row = r.row(i).data() + first;
      for (Index c = 0; c < width; ++c) row[c] *= at[static_cast<std::size_t>(c)].difference(residual_share * row[c]);
    }
    for (Index c = 0; c < width; ++c) x.mean.value(first + c) *= at[static_cast<std::size_t>(c)].value();
  });
  rescale(x.mean);
  rescale(x.residual);
}

// An activation that saturates.
template <class At, class Tail>
void activate_with_tail(SplitState& x) {
  ScaledRow mean;
  ScaledMatrix residual;
  const bool far_mean = activate_far_mean<Tail>(x, mean);
  const bool far_residual = activate_far_residual<Tail>(x, residual);
  if (!far_mean || !far_residual) activate_with<At>(x, 0);
  if (far_mean) x.mean = std::move(mean);
  if (far_residual) x.residual = std::move(residual);
}

}  // namespace

void activate(Activation act, SplitState& x) {
  switch (act) {
    case Activation::kIdentity:
      return;
    case Activation::kRelu:
      return activate_with<ReluAt>(x, std::max(x.mean.log, x.residual.log));
    case Activation::kGelu:
      return activate_with_tail<GeluAt, GeluTail>(x);
    case Activation::kGeluTanh:
      return activate_with_tail<GeluTanhAt<TanhRoot>, GeluTanhTail<TanhRoot>>(x);
    case Activation::kGeluBloom:
      return activate_with_tail<GeluTanhAt<BloomRoot>, GeluTanhTail<BloomRoot>>(x);
    case Activation::kGeluFast:
      return activate_with_tail<GeluTanhAt<FastRoot>, GeluTanhTail<FastRoot>>(x);
    case Activation::kSilu:
      return activate_with_tail<SiluAt, SiluTail>(x);
    case Activation::kTanh:
      return activate_with_tail<TanhAt, TanhTail>(x);
  }
}

double divided_difference(Activation act, double a, double e) {
  switch (act) {
    case Activation::kIdentity:
      return IdentityAt(a).difference(e);
    case Activation::kRelu:
      return ReluAt(a).difference(e);
    case Activation::kGelu:
      return GeluAt(a).difference(e);
    case Activation::kGeluTanh:
      return GeluTanhAt<TanhRoot>(a).difference(e);
    case Activation::kGeluBloom:
      return GeluTanhAt<BloomRoot>(a).difference(e);
    case Activation::kGeluFast:
      return GeluTanhAt<FastRoot>(a).difference(e);
    case Activation::kSilu:
      return SiluAt(a).difference(e);
    case Activation::kTanh:
      return TanhAt(a).difference(e);
  }
  return 1;
}

SplitState product(const SplitState& x, const SplitState& y) {
  SplitState out;
  out.mean = scaled<RowVector<double>>(x.mean.value.cwiseProduct(y.mean.value), x.mean.log + y.mean.log);
  const auto by_row = [](const ScaledMatrix& m, const ScaledRow& row) {
    return scaled<Matrix<double>>(m.value.array().rowwise() * row.value.array(), m.log + row.log);
  };
  out.residual = by_row(x.residual, y.mean);
  add(out.residual, by_row(y.residual, x.mean));
  add(out.residual,
      scaled<Matrix<double>>(x.residual.value.cwiseProduct(y.residual.value), x.residual.log + y.residual.log));
  return out;
}

}  // namespace rankfall
