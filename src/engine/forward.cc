#include "engine/forward_impl.h"
#include "network/attention/kind.h"

namespace rankfall {

template RANKFALL_API std::vector<Matrix<float>> forward(const Network&, const WeightSource&, std::span<const Sample>,
                                                         std::span<Observer<float>* const>, const ForwardOptions&);
template RANKFALL_API std::vector<Matrix<double>> forward(const Network&, const WeightSource&, std::span<const Sample>,
                                                          std::span<Observer<double>* const>, const ForwardOptions&);
template RANKFALL_API std::vector<Matrix<float>> apply_head(const Network&, const WeightSource&,
                                                            std::span<const Matrix<float>>);
template RANKFALL_API std::vector<Matrix<double>> apply_head(const Network&, const WeightSource&,
                                                             std::span<const Matrix<double>>);

namespace {

double linear_flops(Index n_tokens, const Linear& f) {
  return 2.0 * static_cast<double>(n_tokens) * static_cast<double>(f.n_in()) * static_cast<double>(f.n_out());
}

double flops(const Attention& a, Index n) {
  const double tokens = static_cast<double>(n);
  const double width = static_cast<double>(a.n_heads * a.d_head);
  const bool relative = std::holds_alternative<XlnetPositions>(a.positions);
  const double linear = linear_flops(n, a.q) + linear_flops(n, a.k) + linear_flops(n, a.v) + linear_flops(n, a.o);
  const AttentionKind& kind = kind_of(a.weights);
  if (!kind.is_low_rank) return linear + (relative ? 8.0 : 4.0) * tokens * tokens * width;
  // Two thin products make the weights, two apply them.
  const double thin = static_cast<double>(kind.thin_width(a.weights, n));
  return linear + tokens * thin * (8 * width + (kind.has_middle ? 2 * thin * static_cast<double>(a.n_heads) : 0));
}

double flops(const Mlp& m, Index n) {
  return linear_flops(n, m.up) + linear_flops(n, m.down) + (m.gate ? linear_flops(n, *m.gate) : 0.0);
}

double flops(const Elementwise&, Index n) { return static_cast<double>(n); }

}  // namespace

double flops_of(const SubLayer& layer, Index n_tokens) {
  double total = 0;
  for (const Branch& branch : layer.branches) {
    total += std::visit([&](const auto& f) { return flops(f, n_tokens); }, branch.f);
  }
  return total;
}

}  // namespace rankfall
