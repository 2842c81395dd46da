#include <algorithm>

#include <Eigen/QR>
#include <fmt/format.h>

#include "network/attention/kind.h"

namespace rankfall {
namespace {

// `rows` directions of `d` channels: orthogonal in groups of d, each as long as a Gaussian vector.
Matrix<double> random_directions(std::uint64_t seed, const DrawnFor& at, Index rows, Index d) {
  const Index n_groups = (rows + d - 1) / d;
  const Matrix<double> drawn = head_normals(seed, at, "directions", n_groups * d, d);
  const Matrix<double> lengths = head_normals(seed, at, "lengths", rows, d);
  Matrix<double> out(rows, d);
  for (Index group = 0; group < n_groups; ++group) {
    const Matrix<double> square = drawn.middleRows(group * d, d);
    const Eigen::HouseholderQR<Matrix<double>> qr(square);
    Matrix<double> q = qr.householderQ();
    // Reflections choose signs by the numbers themselves: with R's diagonal positive no direction is preferred.
    for (Index c = 0; c < d; ++c) {
      if (qr.matrixQR()(c, c) < 0) q.col(c) *= -1;
    }
    const Index first = group * d;
    const Index n = std::min(d, rows - first);
    out.middleRows(first, n) = q.topRows(n);
  }
  for (Index i = 0; i < rows; ++i) out.row(i) *= lengths.row(i).norm();
  return out;
}

Index n_features(const AttentionWeights& weights) { return std::get<FeatureWeights>(weights).features; }

}  // namespace

// P from positive random features of queries and keys.
const AttentionKind kPerformerKind = {
    .name = "performer",
    .keys = {{{"m", 256, 1}, {"seed", 0, 0, INT64_MAX}}},
    .make =
        [](const AttentionKind::Values& v) {
          return AttentionChoice{.weights = FeatureWeights{v[0], static_cast<std::uint64_t>(v[1])}};
        },
    .weights = FeatureWeights{},
    .within =
        [](const AttentionKind::Budget& budget) { return std::vector{fmt::format("performer:m={}", budget.products)}; },
    .theory = {"O(n m d)", "O(n (d+m))"},
    .is_low_rank = true,
    .thin_width = [](const AttentionWeights& weights, Index) { return n_features(weights); },
    .draw =
        [](const Attention& attention, const DrawnFor& at, Index) {
          const auto& w = std::get<FeatureWeights>(attention.weights);
          const DrawnFor place{at.block + w.shift.block, at.head + w.shift.head};
          return random_directions(w.seed, place, w.features, attention.d_head);
        },
    .n_drawn = [](const Attention& attention, Index) { return n_features(attention.weights) * attention.d_head; },
};

}  // namespace rankfall
