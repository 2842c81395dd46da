#include "studies/bounds/lower_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/gemm.h"
#include "linalg/least_value.h"

namespace rankfall {
namespace {

// W_V and W_O of a head, as maps of rows: values = x v, output = values o.
struct HeadWeights {
  Matrix<double> v, o;
};
std::vector<HeadWeights> head_weights(const LoadedLayer<double>& layer) {
  const Attention& a = *layer.layer->attention();
  const Matrix<double> v = as_matrix(layer.weights.matrix(a.v.w));
  const Matrix<double> o = as_matrix(layer.weights.matrix(a.o.w));
  std::vector<HeadWeights> heads;
  for (Index h = 0; h < a.n_heads; ++h) {
    const Index kv = h * a.n_kv_heads / a.n_heads;
    heads.push_back(
        {v.middleRows(kv * a.d_head, a.d_head).transpose(), o.middleCols(h * a.d_head, a.d_head).transpose()});
  }
  return heads;
}

// The map on mean-free matrices, in an orthonormal basis of theirs: skip I + branch sum_h (V^T P_h V) x W_h^T.
Matrix<double> formed_map(double skip, double branch, const std::vector<HeadWeights>& weights,
                          const std::vector<FrozenHead>& heads, Index n, Index d) {
  const Index size = (n - 1) * d;
  Matrix<double> map = skip * Matrix<double>::Identity(size, size);
  const Matrix<double> basis = mean_free_basis(n);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Matrix<double> mixing = branch * (basis.transpose() * plain(heads[h].mixing) * basis);
    const Matrix<double> w = product<double>(false, false, weights[h].v, weights[h].o).transpose();
    for (Index i = 0; i + 1 < n; ++i) {
      for (Index k = 0; k + 1 < n; ++k) map.block(i * d, k * d, d, d) += mixing(i, k) * w;
    }
  }
  return map;
}

}  // namespace

Matrix<double> mean_free_basis(Index n) {
  Matrix<double> basis = Matrix<double>::Zero(n, n - 1);
  for (Index k = 1; k < n; ++k) {
    const auto size = static_cast<double>(k);
    const double scale = 1 / std::sqrt(size * (size + 1));
    basis.col(k - 1).head(k).setConstant(scale);
    basis(k, k - 1) = -size * scale;
  }
  return basis;
}

double log_difference(double a, double b) {
  if (b == kLogZero) return a;
  const double less = b + 1e-12 * (1 + std::abs(a) + std::abs(b));
  return a > less ? a + std::log1p(-std::exp(less - a)) : kLogZero;
}

LeastGain least_gain(const LoadedLayer<double>& layer, const std::vector<FrozenHead>& heads, const ScaledMatrix& r) {
  const Index n = r.value.rows();
  const Index d = r.value.cols();
  const double skip = layer.layer->skip;
  const double branch = layer.layer->with<Attention>()->scale;
  LeastGain out;
  if ((n - 1) * d <= kLargestFormedMap) {
    const Matrix<double> map = formed_map(skip, branch, head_weights(layer), heads, n, d);
    // Forming it rounds, too: sums of n + d + heads terms.
    const double rounding =
        static_cast<double>(2 * n + d + std::ssize(heads)) * std::numeric_limits<double>::epsilon() * map.norm();
    const double bound = n == 1 ? std::abs(skip) : least_singular_value_bound(map) - rounding;
    out.log_bound = log_or_zero(bound);
    out.is_bound = true;
  } else if (n * d <= kLargestAppliedMap) {
    constexpr int kSteps = 12;
    const std::vector<HeadWeights> weights = head_weights(layer);
    std::vector<Matrix<double>> mixing;
    for (const FrozenHead& head : heads) mixing.push_back(plain(head.mixing));
    const auto map = [&](bool transposed) {
      return [&, transposed](const Matrix<double>& x) {
        Matrix<double> y = skip * x;
        for (std::size_t h = 0; h < mixing.size(); ++h) {
          const Matrix<double> inner = transposed ? product<double>(false, true, x, weights[h].o)
                                                  : product<double>(false, false, x, weights[h].v);
          const Matrix<double> mixed = product<double>(transposed, false, mixing[h], inner);
          y += product<double>(false, transposed, mixed, transposed ? weights[h].v : weights[h].o, branch);
        }
        return y;
      };
    };
    out.log_estimate = log_or_zero(least_singular_value_estimate(map(false), map(true), r.value, kSteps));
    out.is_estimate = true;
  }
  return out;
}

double log_mixed_values(const std::vector<FrozenHead>& heads) {
  double sum = kLogZero;
  for (const FrozenHead& head : heads) sum = log_sum(sum, head.log_mixing + head.log_values);
  return sum;
}

double log_mixed_weights(const std::vector<FrozenHead>& heads, const WeightNorms& norms) {
  double sum = kLogZero;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    sum = log_sum(sum, heads[h].log_mixing + log_or_zero(norms.heads[h].w_spectral));
  }
  return sum;
}

// D_i - 1/sigma, sigma of the mean token, is formed without subtracting, at R's scale.
double log_behind_norm(const CentredState& in, const Norm& norm, const VectorView<double>& gain) {
  const Index d = in.r.value.cols();
  const auto width = static_cast<double>(d);
  RowVector<double> c = plain(in.mean);
  Matrix<double> r = in.r.value;
  const auto with_gain = [&](auto&& m) {
    Matrix<double> out = m;
    if (gain.size() > 0) out.array().rowwise() *= gain.array();
    return out;
  };
  if (in.r.is_zero()) return kLogZero;
  if (norm.kind == Norm::Kind::kAffine) return in.r.log + log_or_zero(with_gain(r).norm());
  if (norm.kind == Norm::Kind::kLayer) {
    c.array() -= c.mean();
    r.colwise() -= r.rowwise().mean().eval();
  }
  const double scale = std::exp(in.r.log);
  const double sigma = std::sqrt(c.squaredNorm() / width + norm.eps);
  double least = std::numeric_limits<double>::infinity();
  RowVector<double> differences(r.rows());
  for (Index i = 0; i < r.rows(); ++i) {
    const double own = std::sqrt((c + scale * r.row(i)).squaredNorm() / width + norm.eps);
    least = std::min(least, 1 / own);
    differences(i) = -(2 * c.dot(r.row(i)) + scale * r.row(i).squaredNorm()) / (width * own * sigma * (own + sigma));
  }
  differences.array() -= differences.mean();
  const double kept = least * with_gain(r).norm();
  const double lost = differences.norm() * with_gain(c).norm();
  const double floor = kept - lost;
  return std::isfinite(floor) && floor > 1e-12 * kept ? in.r.log + std::log(floor) : kLogZero;
}

}  // namespace rankfall
