#include "engine/kernel/draws.h"

#include <cmath>
#include <vector>

#include "engine/split/split.h"

namespace rankfall {
namespace {

Matrix<double> normals(RandomKey key, Index rows, Index cols, double variance) {
  std::vector<float> drawn(static_cast<std::size_t>(rows * cols));
  fill_normal(key, 0, drawn, 1.0);
  return Eigen::Map<const Matrix<float>>(drawn.data(), rows, cols).cast<double>() * std::sqrt(variance);
}

}  // namespace

SplitState drawn_linear(const SplitState& x, const LinearMoments& moments, Index n_out, RandomKey weights,
                        RandomKey biases) {
  const Matrix<double> w = normals(weights, x.mean.value.size(), n_out, moments.factor);
  const Matrix<double> b = normals(biases, moments.bias > 0 ? 1 : 0, n_out, moments.bias);
  const WeightView<double> view{{w.data(), w.rows(), w.cols(), Eigen::OuterStride<>(w.cols())}, true};
  return linear(x, view, VectorView<double>(b.data(), b.size()));
}

}  // namespace rankfall
