#include "engine/gradient/slopes.h"

#include <cmath>
#include <numbers>

#include "engine/dense/activation.h"

namespace rankfall {
namespace {

// Of x (1 + tanh(root (x + 0.044715 x^3))) / 2.
double gelu_tanh_slope(double root, double x) {
  constexpr double kCubic = 0.044715;
  const double t = std::tanh(root * (x + kCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * kCubic * x * x);
}

double slope_at(Activation act, double x) {
  switch (act) {
    case Activation::kIdentity:
      return 1;
    case Activation::kRelu:
      return x > 0 ? 1 : 0;
    case Activation::kGelu:
      return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) +
             x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    case Activation::kGeluTanh:
      return gelu_tanh_slope(std::sqrt(2 / std::numbers::pi), x);
    case Activation::kGeluBloom:
      return gelu_tanh_slope(kBloomRoot, x);
    case Activation::kGeluFast:
      return gelu_tanh_slope(kFastRoot, x);
    case Activation::kSilu: {
      const double s = 1 / (1 + std::exp(-x));
      return s * (1 + x * (1 - s));
    }
    case Activation::kTanh: {
      const double t = std::tanh(x);
      return 1 - t * t;
    }
  }
  return 0;
}

}  // namespace

Matrix<double> slope_of(Activation act, const MatrixRef<double>& x) {
  return x.unaryExpr([act](double entry) { return slope_at(act, entry); });
}

Matrix<double> norm_back(const Norm& norm, const VectorView<double>& gain, const MatrixRef<double>& x,
                         Matrix<double> y) {
  const bool layer = norm.kind == Norm::Kind::kLayer;
  const auto d = static_cast<double>(x.cols());
  RowVector<double> c;
  for (Index i = 0; i < y.rows(); ++i) {
    auto h = y.row(i);
    if (gain.size() > 0) h.array() *= gain.array();
    if (norm.kind == Norm::Kind::kAffine) continue;
    c = x.row(i);
    if (layer) {
      c.array() -= c.mean();
      h.array() -= h.mean();
    }
    const double square = c.squaredNorm() / d + norm.eps;
    h -= c * (h.dot(c) / (d * square));
    h *= 1 / std::sqrt(square);
  }
  return y;
}

}  // namespace rankfall
