#pragma once

#include "engine/dense/activation.h"
#include "engine/dense/dense.h"
#include "engine/input_map.h"
#include "engine/layer_weights_impl.h"
#include <rankfall/matrix.h>

namespace rankfall {

// Adds row (first + i) of a table, seen as a slice, to row i of x, for each i; first may depend on i.
template <class T, class RowOf>
void add_table_rows(const TensorSlice& table, const Network& network, const WeightSource& source, const RowOf& row_of,
                    Matrix<T>& x) {
  for (Index i = 0; i < x.rows(); ++i) {
    const TensorSlice row{table.tensor, table.row + row_of(i), table.col, 1, table.cols, false};
    const LoadedSlice<T> loaded = load_slice<T>(row, network.tensors, source);
    x.row(i) += VectorView<T>(loaded.data, table.cols);
  }
}

template <class T>
Matrix<T> source_state(const Network& network, const WeightSource& source, const TokenInput& input,
                       const Sample& sample) {
  const TokenIds& ids = std::get<TokenIds>(sample.content);
  const Index n = std::ssize(ids);
  Matrix<T> x = Matrix<T>::Zero(n, input.words.cols);
  add_table_rows<T>(
      input.words, network, source, [&](Index i) { return Index{ids[static_cast<std::size_t>(i)]}; }, x);
  if (input.projection) {
    const LayerWeights<T> weights(slices_of(*input.projection), network.tensors, source);
    x = linear<T>(x, weights.matrix(input.projection->w), weights.vector(input.projection->b));
  }
  if (input.segments) {
    const auto segment = [&](Index i) {
      return sample.segments.empty() ? Index{0} : Index{sample.segments[static_cast<std::size_t>(i)]};
    };
    add_table_rows<T>(*input.segments, network, source, segment, x);
  }
  if (input.positions) {
    const std::vector<Index> rows = position_rows(input, sample);
    add_table_rows<T>(
        *input.positions, network, source, [&](Index i) { return rows[static_cast<std::size_t>(i)]; }, x);
  }
  return x;
}

template <class T>
Matrix<T> source_state(const Network&, const WeightSource&, const FeatureInput&, const Sample& sample) {
  return std::get<Features>(sample.content).values.template cast<T>();
}

// Patches in reading order; the pixels of each as [channel, row, column], which is how the projection is stored.
template <class T>
Matrix<T> patches_of(const PatchInput& input, const Matrix<double>& pixels) {
  const Index side = input.image / input.patch;
  const Index area = input.patch * input.patch;
  Matrix<T> patches(side * side, input.channels * area);
  for (Index p = 0; p < patches.rows(); ++p) {
    for (Index c = 0; c < input.channels; ++c) {
      for (Index r = 0; r < input.patch; ++r) {
        const Index pixel = ((p / side) * input.patch + r) * input.image + (p % side) * input.patch;
        patches.block(p, c * area + r * input.patch, 1, input.patch) =
            pixels.block(c, pixel, 1, input.patch).template cast<T>();
      }
    }
  }
  return patches;
}

template <class T>
Matrix<T> source_state(const Network& network, const WeightSource& source, const PatchInput& input,
                       const Sample& sample) {
  const Matrix<T> patches = patches_of<T>(input, std::get<Pixels>(sample.content).values);
  std::vector<TensorSlice> slices = slices_of(input.projection);
  slices.push_back(input.class_token);
  slices.push_back(input.positions);
  const LayerWeights<T> weights(slices, network.tensors, source);
  const Index d = input.projection.n_out();
  Matrix<T> x(input.n_tokens(), d);
  x.row(0) = weights.vector(input.class_token);
  x.bottomRows(patches.rows()) =
      linear<T>(patches, weights.matrix(input.projection.w), weights.vector(input.projection.b));
  x += Eigen::Map<const Matrix<T>>(weights.vector(input.positions).data(), x.rows(), d);
  return x;
}

template <class T>
Matrix<T> input_state(const Network& network, const WeightSource& source, const LayerWeights<T>& stages,
                      const Sample& sample) {
  if (const auto* given = std::get_if<HiddenState>(&sample.content)) return given->values.template cast<T>();
  Matrix<T> x = std::visit([&](const auto& input) { return source_state<T>(network, source, input, sample); },
                           network.input.source);
  for (const auto& stage : network.input.stages) {
    if (const auto* f = std::get_if<Linear>(&stage)) {
      x = linear<T>(x, stages.matrix(f->w), stages.vector(f->b));
    } else if (const auto* norm = std::get_if<Norm>(&stage)) {
      normalise_rows<T>(*norm, stages.vector(norm->gain), stages.vector(norm->bias), x);
    } else if (const auto* act = std::get_if<Activation>(&stage)) {
      activate<T>(*act, x);
    } else {
      x *= T(std::get<Factor>(stage).value);
    }
  }
  return x;
}

}  // namespace rankfall
