#pragma once

#include <memory>
#include <vector>

#include "engine/layer_weights_impl.h"
#include <rankfall/model.h>

namespace rankfall {

// Weights of another source as doubles, which a test may change.
class EditableWeights final : public WeightSource {
 public:
  EditableWeights(const std::vector<TensorSpec>& tensors, const WeightSource& of) {
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      TensorSpec plain = tensors[t];
      plain.offset = 0;
      const TensorSlice whole{.tensor = 0, .rows = plain.matrix_rows(), .cols = plain.matrix_cols()};
      struct One final : WeightSource {
        One(const WeightSource& all, int tensor) : source(all), index(tensor) {}
        TensorData rows(int, Index first, Index count) const override { return source.rows(index, first, count); }
        const WeightSource& source;
        int index;
      };
      const LoadedSlice<double> loaded = load_slice<double>(whole, {plain}, One(of, static_cast<int>(t)));
      matrices.push_back(Eigen::Map<const Matrix<double>, 0, Eigen::OuterStride<>>(
          loaded.data, whole.rows, whole.cols, Eigen::OuterStride<>(loaded.stride)));
    }
  }

  TensorData rows(int tensor, Index first, Index count) const override {
    const Matrix<double>& m = matrices[static_cast<std::size_t>(tensor)];
    const auto* bytes = reinterpret_cast<const std::byte*>(m.data() + first * m.cols());
    return {DType::kF64, {bytes, static_cast<std::size_t>(count * m.cols()) * sizeof(double)}, nullptr};
  }

  // Adds `change`, [out, in], to the weights that a slice names.
  void add(const TensorSlice& slice, const Matrix<double>& change) {
    Matrix<double>& m = matrices[static_cast<std::size_t>(slice.tensor)];
    for (Index r = 0; r < slice.rows; ++r) {
      const Index row = slice.row + (slice.run > 0 ? r / slice.run * slice.period + r % slice.run : r);
      for (Index c = 0; c < slice.cols; ++c) m(row, slice.col + c) += slice.transposed ? change(c, r) : change(r, c);
    }
  }

  std::vector<Matrix<double>> matrices;
};

}  // namespace rankfall
