#include "model/low_rank_head.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <Eigen/QR>
#include <fmt/format.h>

#include "base/random.h"
#include "model/low_rank_head_impl.h"

namespace rankfall {
namespace {

struct Place {
  std::uint64_t seed;
  Index block, head;
};

// N(0, 1), its own for each block, head and purpose.
Matrix<double> gaussian(const Place& place, const char* what, Index rows, Index cols) {
  Matrix<float> out(rows, cols);
  const RandomKey key = random_key(place.seed, fmt::format("attention.{}.{}.{}", what, place.block, place.head));
  fill_normal(key, 0, std::span(out.data(), static_cast<std::size_t>(out.size())), 1);
  return out.cast<double>();
}

// `rows` directions of `d` channels: orthogonal in groups of d, each as long as a Gaussian vector.
Matrix<double> random_directions(const Place& place, Index rows, Index d) {
  const Index n_groups = (rows + d - 1) / d;
  const Matrix<double> drawn = gaussian(place, "directions", n_groups * d, d);
  const Matrix<double> lengths = gaussian(place, "lengths", rows, d);
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

// rows x cols of N(0, 1/rows).
Matrix<double> random_projection(const Place& place, Index rows, Index cols) {
  // Drawn by column, so that a longer input has the same numbers for its beginning.
  const Matrix<double> drawn = gaussian(place, "projection", cols, rows);
  return drawn.transpose() / std::sqrt(static_cast<double>(rows));
}

}  // namespace

bool is_low_rank(const AttentionWeights& weights) {
  return !std::holds_alternative<SoftmaxWeights>(weights) && !std::holds_alternative<GaussianWeights>(weights);
}

bool has_distributions(const AttentionWeights& weights) {
  const auto* linformer = std::get_if<LinformerWeights>(&weights);
  return !std::holds_alternative<NystromWeights>(weights) && (!linformer || linformer->pooled);
}

Index thin_width(const AttentionWeights& weights, Index n_tokens) {
  if (const auto* linformer = std::get_if<LinformerWeights>(&weights)) {
    return linformer->pooled ? std::min(linformer->k, n_tokens) : linformer->k;
  }
  if (const auto* nystrom = std::get_if<NystromWeights>(&weights)) return std::min(nystrom->landmarks, n_tokens);
  const auto* features = std::get_if<FeatureWeights>(&weights);
  return features ? features->features : 0;
}

Matrix<double> drawn_matrix(const Attention& attention, Index block, Index head, Index n_tokens) {
  if (const auto* linformer = std::get_if<LinformerWeights>(&attention.weights); linformer && !linformer->pooled) {
    return random_projection({linformer->seed, block + linformer->shift.block, head + linformer->shift.head},
                             linformer->k, n_tokens);
  }
  if (const auto* features = std::get_if<FeatureWeights>(&attention.weights)) {
    return random_directions({features->seed, block + features->shift.block, head + features->shift.head},
                             features->features, attention.d_head);
  }
  return {};
}

template class LowRankHead<float>;
template class LowRankHead<double>;

}  // namespace rankfall
