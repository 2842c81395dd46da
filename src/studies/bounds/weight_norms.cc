#include "studies/bounds/weight_norms.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

#include "base/parallel.h"
#include "linalg/gemm.h"
#include "linalg/norms.h"
#include "linalg/spectra.h"

namespace rankfall {
namespace {

// |v o|_2, v: [d, k], o: [k, d], k small: the largest eigenvalue of (v^T v)(o o^T).
double product_norm(Matrix<double> v, Matrix<double> o) {
  const double v_scale = v.cwiseAbs().maxCoeff();
  const double o_scale = o.cwiseAbs().maxCoeff();
  if (v_scale == 0 || o_scale == 0) return 0;
  v /= v_scale;
  o /= o_scale;
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> left(product<double>(true, false, v, v));
  const RowVector<double> roots = left.eigenvalues().cwiseMax(0).cwiseSqrt().transpose();
  const Matrix<double> half = (left.eigenvectors() * roots.asDiagonal()).transpose();
  return v_scale * o_scale * spectral_norm(product<double>(false, false, half, o));
}

// sup|f'| |W_1|_2 |W_2|_2, unless it is certainly above `enough`: |W|_2 >= |W|_F / sqrt(min(n, d)).
double branch_norm(double slope, const Matrix<double>& up, const Matrix<double>& down, double enough) {
  const auto least = [](const Matrix<double>& w) {
    return w.norm() / std::sqrt(static_cast<double>(std::min(w.rows(), w.cols())));
  };
  const double simple = slope * least(up) * least(down);
  if (!(simple < enough)) return simple;
  return slope * spectral_norm(up) * spectral_norm(down);
}

// The largest 2-norm of a head's normed query or key: dividing by the root mean square leaves a row of norm
// sqrt(width). Nothing where nothing is divided.
std::optional<double> longest(const std::optional<HeadNorm>& norm, const LayerWeights<double>& weights, Index d_head,
                              Index n_heads, Index head) {
  if (!norm || norm->norm.kind == Norm::Kind::kAffine) return {};
  const auto part = [&](const VectorView<double>& v) -> RowVector<double> {
    return norm->per_head ? RowVector<double>(v) : RowVector<double>(v.segment(head * d_head, d_head));
  };
  const auto width = static_cast<double>(norm->per_head ? d_head : n_heads * d_head);
  const VectorView<double> gain = weights.vector(norm->norm.gain);
  const VectorView<double> bias = weights.vector(norm->norm.bias);
  const double largest = gain.size() == 0 ? 1 : part(gain).cwiseAbs().maxCoeff();
  return std::sqrt(width) * largest + (bias.size() == 0 ? 0 : part(bias).norm());
}

std::optional<double> logit_limit(const Attention& a, const LayerWeights<double>& weights, Index head) {
  if (std::holds_alternative<GaussianWeights>(a.weights)) return {};  // adds a term that nothing limits
  std::optional<double> limit;
  const auto* rotary = std::get_if<RotaryPositions>(&a.positions);
  if (rotary || std::holds_alternative<NoPositions>(a.positions)) {
    const auto q = longest(a.q_norm, weights, a.d_head, a.n_heads, head);
    const auto k = longest(a.k_norm, weights, a.d_head, a.n_kv_heads, head * a.n_kv_heads / a.n_heads);
    const double turned = rotary ? std::max(1.0, std::abs(rotary->magnitude)) : 1.0;
    if (q && k) limit = std::abs(a.scale) * *q * *k * turned * turned;
  }
  if (a.soft_cap > 0) limit = std::min(limit.value_or(a.soft_cap), a.soft_cap);
  return limit;
}

void attention_norms(const Attention& a, const LayerWeights<double>& weights, WeightNorms& out) {
  const Matrix<double> q = as_matrix(weights.matrix(a.q.w));
  const Matrix<double> k = as_matrix(weights.matrix(a.k.w));
  const Matrix<double> v = as_matrix(weights.matrix(a.v.w));
  const Matrix<double> o = as_matrix(weights.matrix(a.o.w));  // [d_model, heads * d_head]
  out.heads.resize(static_cast<std::size_t>(a.n_heads));
  parallel_for(a.n_heads, [&](Index h) {
    const Index kv = h * a.n_kv_heads / a.n_heads;
    const auto head = [&](const Matrix<double>& m, Index which) { return m.middleRows(which * a.d_head, a.d_head); };
    HeadWeightNorms& norm = out.heads[static_cast<std::size_t>(h)];
    norm.qk_one = norms<double>(product<double>(true, false, head(q, h), head(k, kv))).one;
    const Matrix<double> o_head = o.middleCols(h * a.d_head, a.d_head).transpose();
    const Norms w = norms<double>(product<double>(true, false, head(v, kv), o_head));
    norm.w_one = w.one;
    norm.w_inf = w.inf;
    norm.logit_limit = logit_limit(a, weights, h);
    const Matrix<double> inner = product<double>(false, true, o_head, head(v, kv));
    if (inner.allFinite()) {
      const Eigen::EigenSolver<Matrix<double>> solver(inner, false);
      norm.values.assign(solver.eigenvalues().begin(), solver.eigenvalues().end());
    }
    norm.w_spectral = product_norm(head(v, kv).transpose(), o_head);
  });
}

void mlp_norms(const Mlp& mlp, double scale, const SubLayer& layer, const LayerWeights<double>& weights,
               WeightNorms& out) {
  if (mlp.gate) return;
  // |x W_1 ...| in rows: |W_1| is [in, inner], |W_2| [inner, out].
  const Matrix<double> up = as_matrix(weights.matrix(mlp.up.w));      // [inner, in]
  const Matrix<double> down = as_matrix(weights.matrix(mlp.down.w));  // [out, inner]
  const Norms w = norms<double>(
      product<double>(true, false, Matrix<double>(up.cwiseAbs()), Matrix<double>(down.cwiseAbs().transpose())));
  const double slope = steepest(mlp.act) * std::abs(scale);
  out.branch_spectral = branch_norm(slope, up, down, std::abs(layer.skip));
  out.mlp_one = slope * w.one + std::abs(layer.skip);
  out.mlp_inf = slope * w.inf + std::abs(layer.skip);
}

}  // namespace

double HeadWeightNorms::beta() const { return qk_one * (std::sqrt(w_one) * std::sqrt(w_inf)); }

double WeightNorms::beta() const {
  double largest = 0;
  for (const HeadWeightNorms& head : heads) largest = std::max(largest, head.beta());
  return largest;
}

Matrix<double> as_matrix(const WeightView<double>& w) {
  if (w.transposed) return w.stored.transpose();
  return w.stored;
}

double steepest(Activation act) {
  switch (act) {
    case Activation::kGelu:  // at x = sqrt 2: Phi(x) + x phi(x)
    case Activation::kGeluTanh:
    case Activation::kGeluBloom:
    case Activation::kGeluFast:
      return 1.1290;
    case Activation::kSilu:
      return 1.0999;
    case Activation::kIdentity:
    case Activation::kRelu:
    case Activation::kTanh:
      break;
  }
  return 1;
}

WeightNorms weight_norms(const LoadedLayer<double>& layer) {
  WeightNorms out;
  const SubLayer& sub = *layer.layer;
  if (const Attention* attention = sub.attention()) attention_norms(*attention, layer.weights, out);
  if (sub.branches.size() > 1) return out;  // an MLP beside attention has no constant of its own
  const Branch& branch = sub.branches[0];
  if (const auto* mlp = std::get_if<Mlp>(&branch.f)) {
    mlp_norms(*mlp, branch.scale, sub, layer.weights, out);
  } else if (const auto* f = std::get_if<Elementwise>(&branch.f)) {
    out.branch_spectral = steepest(f->act) * std::abs(branch.scale);
    out.mlp_one = out.mlp_inf = *out.branch_spectral + std::abs(sub.skip);
  }
  return out;
}

}  // namespace rankfall
