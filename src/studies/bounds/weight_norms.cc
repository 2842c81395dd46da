#include "studies/bounds/weight_norms.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "linalg/gemm.h"
#include "linalg/norms.h"

namespace rankfall {
namespace {

// w as [out, in].
Matrix<double> plain(const WeightView<double>& w) {
  if (w.transposed) return w.stored.transpose();
  return w.stored;
}

void attention_norms(const Attention& a, const LayerWeights<double>& weights, WeightNorms& out) {
  const Matrix<double> q = plain(weights.matrix(a.q.w));
  const Matrix<double> k = plain(weights.matrix(a.k.w));
  const Matrix<double> v = plain(weights.matrix(a.v.w));
  const Matrix<double> o = plain(weights.matrix(a.o.w));  // [d_model, heads * d_head]
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
  });
}

void mlp_norms(const Mlp& mlp, double scale, const SubLayer& layer, const LayerWeights<double>& weights,
               WeightNorms& out) {
  if (mlp.gate) return;
  // |x W_1 ...| in rows: |W_1| is [in, inner], |W_2| [inner, out].
  const Matrix<double> up = plain(weights.matrix(mlp.up.w)).cwiseAbs();      // [inner, in]
  const Matrix<double> down = plain(weights.matrix(mlp.down.w)).cwiseAbs();  // [out, inner]
  const Norms w = norms<double>(product<double>(true, false, up, Matrix<double>(down.transpose())));
  const double slope = steepest(mlp.act) * std::abs(scale);
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
    out.mlp_one = out.mlp_inf = steepest(f->act) * std::abs(branch.scale) + std::abs(sub.skip);
  }
  return out;
}

}  // namespace rankfall
