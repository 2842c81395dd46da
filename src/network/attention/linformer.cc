#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "network/attention/kind.h"

namespace rankfall {

// P = softmax(scale Q (E K)^T) E.
const AttentionKind kLinformerKind = {
    .name = "linformer",
    .keys = {{{"k", 64, 1}, {"pooled", 0, 0, 1}, {"seed", 0, 0, INT64_MAX}}},
    .make =
        [](const AttentionKind::Values& v) {
          return AttentionChoice{.weights = LinformerWeights{v[0], v[1] != 0, static_cast<std::uint64_t>(v[2])}};
        },
    .weights = LinformerWeights{},
    .within =
        [](const AttentionKind::Budget& budget) {
          return std::vector{fmt::format("linformer:k={}", budget.products),
                             fmt::format("linformer:k={},pooled=1", budget.products)};
        },
    .theory = {"O(n k d)", "O(n (d+k))"},
    .is_low_rank = true,
    .keeps_causality = false,
    .thin_width =
        [](const AttentionWeights& weights, Index n_tokens) {
          const auto& w = std::get<LinformerWeights>(weights);
          return w.pooled ? std::min(w.k, n_tokens) : w.k;
        },
    .products = [](const AttentionWeights& weights,
                   Index n_tokens) { return std::min(std::get<LinformerWeights>(weights).k, n_tokens); },
    // Rows of a random E sum to anything.
    .has_distributions = [](const AttentionWeights& weights) { return std::get<LinformerWeights>(weights).pooled; },
    // E, [k, n_tokens], of N(0, 1/k); drawn by column, so that a longer input has the same numbers for its beginning.
    .draw = [](const Attention& attention, const DrawnFor& at, Index n_tokens) -> Matrix<double> {
      const auto& w = std::get<LinformerWeights>(attention.weights);
      if (w.pooled) return {};
      const DrawnFor place{at.block + w.shift.block, at.head + w.shift.head};
      const Matrix<double> drawn = head_normals(w.seed, place, "projection", n_tokens, w.k);
      return drawn.transpose() / std::sqrt(static_cast<double>(w.k));
    },
    .n_drawn =
        [](const Attention& attention, Index n_tokens) {
          const auto& w = std::get<LinformerWeights>(attention.weights);
          return w.pooled ? Index{0} : w.k * n_tokens;
        },
};

}  // namespace rankfall
