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
void lstm_channels(const LstmLayer<T>& w, Index first, Index width, const RowVectorRef<T>& before,
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
ProjectionLayer<T>::ProjectionLayer(Index d, std::uint64_t seed)
    : q(drawn<T>("projections.q", seed, d, d, d)),
      k(drawn<T>("projections.k", seed, d, d, d)),
      v(drawn<T>("projections.v", seed, d, d, d)),
      o(drawn<T>("projections.o", seed, d, d, d)),
      bias(RowVector<T>::Zero(d)) {}

template <class T>
LstmLayer<T>::LstmLayer(Index d, std::uint64_t seed)
    : input(drawn<T>("lstm.input", seed, 4 * d, d, d)),
      recurrent(drawn<T>("lstm.recurrent", seed, 4 * d, d, d)),
      bias(drawn<T>("lstm.bias", seed, 1, 4 * d, d)) {}

template <class T>
ConvolutionLayer<T>::ConvolutionLayer(Index d, Index kernel, std::uint64_t seed)
    : bias(drawn<T>("convolution.bias", seed, 1, d, kernel * d)) {
  for (Index j = 0; j < kernel; ++j) {
    taps.push_back(drawn<T>(fmt::format("convolution.{}", j), seed, d, d, kernel * d));
  }
}

// Queries, keys and values share one loop, as in attention: few panels would leave threads idle.
template <class T>
LayerOutput<T> ProjectionLayer<T>::run(const MatrixRef<T>& x) const {
  const std::array maps = {&q, &k, &v};
  std::array<Matrix<T>, 3> parts;
  for (Matrix<T>& part : parts) part.resize(x.rows(), q.rows());
  const Index panels = n_panels(q.rows());
  parallel_for(3 * panels, [&](Index i) {
    const auto which = static_cast<std::size_t>(i / panels);
    linear_panel<T>(x, view(*maps.at(which)), view(bias), i % panels, parts.at(which));
  });
  return {linear<T>(parts[2], view(o), view(bias))};
}

template <class T>
LayerOutput<T> LstmLayer<T>::run(const MatrixRef<T>& x) const {
  const Index n = x.rows();
  const Index d = recurrent.cols();
  Matrix<T> z = linear<T>(x, view(input), view(bias));
  RowVector<T> c = RowVector<T>::Zero(d);
  LayerOutput<T> out{Matrix<T>(n, d), 0};
  for (; out.n_steps < n; ++out.n_steps) {
    const Index t = out.n_steps;
    parallel_for(n_panels(d), [&](Index panel) {
      const Index first = panel * kPanelColumns;
      lstm_channels<T>(*this, first, std::min(kPanelColumns, d - first),
                       out.y.row(std::max<Index>(t - 1, 0)).head(t > 0 ? d : 0), z.row(t), c, out.y.row(t));
    });
  }
  return out;
}

template <class T>
LayerOutput<T> ConvolutionLayer<T>::run(const MatrixRef<T>& x) const {
  const Index n = x.rows();
  const Index d = bias.size();
  const Index kernel = std::ssize(taps);
  LayerOutput<T> out{Matrix<T>(n, d), 1};
  parallel_for(n_panels(d), [&](Index panel) {
    const Index first = panel * kPanelColumns;
    const Index width = std::min(kPanelColumns, d - first);
    auto columns = out.y.middleCols(first, width);
    columns.rowwise() = bias.segment(first, width);
    for (Index j = 0; j < kernel; ++j) {
      const Index shift = j - (kernel - 1) / 2;
      const Index rows = n - std::abs(shift);  // that have a token there
      if (rows <= 0) continue;
      gemm<T>(false, true, T(1), x.middleRows(std::max<Index>(shift, 0), rows),
              taps[static_cast<std::size_t>(j)].middleRows(first, width), T(1),
              columns.middleRows(std::max<Index>(-shift, 0), rows));
    }
  });
  return out;
}

template struct ProjectionLayer<float>;
template struct ProjectionLayer<double>;
template struct LstmLayer<float>;
template struct LstmLayer<double>;
template struct ConvolutionLayer<float>;
template struct ConvolutionLayer<double>;

}  // namespace rankfall
