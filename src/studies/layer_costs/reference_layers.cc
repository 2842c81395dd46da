#include "studies/layer_costs/reference_layers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/random.h"
#include "linalg/gemm.h"
#include "linalg/linear.h"

namespace rankfall {
namespace {

template <class T>
Matrix<T> drawn(const std::string& name, std::uint64_t seed, Index rows, Index cols, Index fan_in) {
  Matrix<float> out(rows, cols);
  fill_uniform(random_key(seed, name), 0, std::span(out.data(), static_cast<std::size_t>(out.size())),
               1 / std::sqrt(static_cast<double>(fan_in)));
  return out.cast<T>();
}

template <class T>
WeightView<T> view(const Matrix<T>& w) {
  return {{w.data(), w.rows(), w.cols(), Eigen::OuterStride<>(w.cols())}, false};
}

template <class T>
VectorView<T> view(const RowVector<T>& b) {
  return {b.data(), b.size()};
}

// Channels first.. of step t, from the row of z and from h_(t-1) (empty: zero) to c and the row of y.
template <class T>
void lstm_channels(const LstmWeights<T>& w, Index first, Index width, const RowVectorRef<T>& before,
                   Eigen::Ref<RowVector<T>> z, Eigen::Ref<RowVector<T>> c, Eigen::Ref<RowVector<T>> y) {
  const Index d = c.size();
  const auto part = [&](Index gate) { return z.segment(gate * d + first, width); };
  if (before.size() > 0) {
    // Eigen's product with a vector takes 0.33 ms for 3072 x 768 on one core; OpenBLAS's with a matrix of one row, in
    // panels, 0.34 (SkylakeX), 1.1 (Haswell) or 0.87 ms (Prescott).
    for (Index gate = 0; gate < 4; ++gate) {
      part(gate).transpose().noalias() += w.recurrent.middleRows(gate * d + first, width) * before.transpose();
    }
    count_flops(1, 4 * width, d);
  }
  auto state = c.segment(first, width).array();
  state = part(1).array().logistic() * state + part(0).array().logistic() * part(2).array().tanh();
  y.segment(first, width) = part(3).array().logistic() * state.tanh();
}

}  // namespace

template <class T>
ProjectionWeights<T> draw_projections(Index d, std::uint64_t seed) {
  return {drawn<T>("projections.q", seed, d, d, d), drawn<T>("projections.k", seed, d, d, d),
          drawn<T>("projections.v", seed, d, d, d), drawn<T>("projections.o", seed, d, d, d), RowVector<T>::Zero(d)};
}

template <class T>
LstmWeights<T> draw_lstm(Index d, std::uint64_t seed) {
  return {drawn<T>("lstm.input", seed, 4 * d, d, d), drawn<T>("lstm.recurrent", seed, 4 * d, d, d),
          drawn<T>("lstm.bias", seed, 1, 4 * d, d)};
}

template <class T>
ConvolutionWeights<T> draw_convolution(Index d, Index kernel, std::uint64_t seed) {
  ConvolutionWeights<T> w;
  for (Index j = 0; j < kernel; ++j) {
    w.taps.push_back(drawn<T>(fmt::format("convolution.{}", j), seed, d, d, kernel * d));
  }
  w.bias = drawn<T>("convolution.bias", seed, 1, d, kernel * d);
  return w;
}

// Queries, keys and values share one loop, as in attention: few panels would leave threads idle.
template <class T>
LayerOutput<T> run_projections(const ProjectionWeights<T>& w, const MatrixRef<T>& x) {
  const std::array maps = {&w.q, &w.k, &w.v};
  std::array<Matrix<T>, 3> parts;
  for (Matrix<T>& part : parts) part.resize(x.rows(), w.q.rows());
  const Index panels = n_panels(w.q.rows());
  parallel_for(3 * panels, [&](Index i) {
    const auto which = static_cast<std::size_t>(i / panels);
    linear_panel<T>(x, view(*maps.at(which)), view(w.bias), i % panels, parts.at(which));
  });
  return {linear<T>(parts[2], view(w.o), view(w.bias))};
}

template <class T>
LayerOutput<T> run_lstm(const LstmWeights<T>& w, const MatrixRef<T>& x) {
  const Index n = x.rows();
  const Index d = w.recurrent.cols();
  Matrix<T> z = linear<T>(x, view(w.input), view(w.bias));
  RowVector<T> c = RowVector<T>::Zero(d);
  LayerOutput<T> out{Matrix<T>(n, d), 0};
  for (; out.n_steps < n; ++out.n_steps) {
    const Index t = out.n_steps;
    parallel_for(n_panels(d), [&](Index panel) {
      const Index first = panel * kPanelColumns;
      lstm_channels<T>(w, first, std::min(kPanelColumns, d - first),
                       out.y.row(std::max<Index>(t - 1, 0)).head(t > 0 ? d : 0), z.row(t), c, out.y.row(t));
    });
  }
  return out;
}

template <class T>
LayerOutput<T> run_convolution(const ConvolutionWeights<T>& w, const MatrixRef<T>& x) {
  const Index n = x.rows();
  const Index d = w.bias.size();
  const Index kernel = static_cast<Index>(w.taps.size());
  LayerOutput<T> out{Matrix<T>(n, d), 1};
  parallel_for(n_panels(d), [&](Index panel) {
    const Index first = panel * kPanelColumns;
    const Index width = std::min(kPanelColumns, d - first);
    auto columns = out.y.middleCols(first, width);
    columns.rowwise() = w.bias.segment(first, width);
    for (Index j = 0; j < kernel; ++j) {
      const Index shift = j - (kernel - 1) / 2;
      const Index rows = n - std::abs(shift);  // that have a token there
      if (rows <= 0) continue;
      gemm<T>(false, true, T(1), x.middleRows(std::max<Index>(shift, 0), rows),
              w.taps[static_cast<std::size_t>(j)].middleRows(first, width), T(1),
              columns.middleRows(std::max<Index>(-shift, 0), rows));
    }
  });
  return out;
}

template ProjectionWeights<float> draw_projections(Index, std::uint64_t);
template ProjectionWeights<double> draw_projections(Index, std::uint64_t);
template LstmWeights<float> draw_lstm(Index, std::uint64_t);
template LstmWeights<double> draw_lstm(Index, std::uint64_t);
template ConvolutionWeights<float> draw_convolution(Index, Index, std::uint64_t);
template ConvolutionWeights<double> draw_convolution(Index, Index, std::uint64_t);
template LayerOutput<float> run_projections(const ProjectionWeights<float>&, const MatrixRef<float>&);
template LayerOutput<double> run_projections(const ProjectionWeights<double>&, const MatrixRef<double>&);
template LayerOutput<float> run_lstm(const LstmWeights<float>&, const MatrixRef<float>&);
template LayerOutput<double> run_lstm(const LstmWeights<double>&, const MatrixRef<double>&);
template LayerOutput<float> run_convolution(const ConvolutionWeights<float>&, const MatrixRef<float>&);
template LayerOutput<double> run_convolution(const ConvolutionWeights<double>&, const MatrixRef<double>&);

}  // namespace rankfall
