#pragma once

#include <cstdint>
#include <type_traits>

#include "base/dcheck.h"
#include "engine/layer_weights.h"
#include "io/dtype.h"
#include <rankfall/matrix.h>

namespace rankfall {

template <class T>
LoadedSlice<T> load_slice(const TensorSlice& slice, const std::vector<TensorSpec>& tensors,
                          const WeightSource& source) {
  const TensorSpec& spec = tensors[static_cast<std::size_t>(slice.tensor)];
  const Index cols = spec.matrix_cols();
  RANKFALL_DCHECK(slice.row + slice.rows <= spec.matrix_rows() && slice.col + slice.cols <= cols);
  const TensorData data = source.rows(slice.tensor, slice.row, slice.rows);
  LoadedSlice<T> loaded{slice, nullptr, 0, nullptr};
  const bool same_type = (std::is_same_v<T, float> && data.dtype == DType::kF32) ||
                         (std::is_same_v<T, double> && data.dtype == DType::kF64);
  if (same_type && reinterpret_cast<std::uintptr_t>(data.bytes.data()) % alignof(T) == 0) {
    loaded.data = reinterpret_cast<const T*>(data.bytes.data()) + slice.col;
    loaded.stride = cols;
    loaded.keep = data.keep;
    return loaded;
  }
  // Every file type fits in a double exactly; other scalars take that way round.
  using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
  auto copy = std::make_shared<Matrix<T>>(slice.rows, slice.cols);
  const std::size_t element = dtype_size(data.dtype);
  parallel_for(slice.rows, [&](Index r) {
    const auto bytes = data.bytes.subspan(static_cast<std::size_t>(r * cols + slice.col) * element,
                                          static_cast<std::size_t>(slice.cols) * element);
    if constexpr (std::is_same_v<T, Wide>) {
      widen<Wide>(data.dtype, bytes, std::span<Wide>(copy->row(r).data(), static_cast<std::size_t>(slice.cols)));
    } else {
      RowVector<Wide> wide(slice.cols);
      widen<Wide>(data.dtype, bytes, std::span<Wide>(wide.data(), static_cast<std::size_t>(slice.cols)));
      copy->row(r) = wide.template cast<T>();
    }
  });
  loaded.data = copy->data();
  loaded.stride = slice.cols;
  loaded.keep = copy;
  return loaded;
}

template <class T>
LayerWeights<T>::LayerWeights(const std::vector<TensorSlice>& slices, const std::vector<TensorSpec>& tensors,
                              const WeightSource& source, const LayerWeights* before) {
  for (const TensorSlice& slice : slices) {
    if (find(slice)) continue;
    const LoadedSlice<T>* shared = before ? before->find(slice) : nullptr;
    slices_.push_back(shared ? *shared : load_slice<T>(slice, tensors, source));
  }
}

template <class T>
const LoadedSlice<T>* LayerWeights<T>::find(const TensorSlice& slice) const {
  for (const auto& loaded : slices_) {
    if (loaded.slice == slice) return &loaded;
  }
  return nullptr;
}

template <class T>
WeightView<T> LayerWeights<T>::matrix(const TensorSlice& slice) const {
  const LoadedSlice<T>* loaded = find(slice);
  RANKFALL_DCHECK(loaded != nullptr);
  return {Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>(loaded->data, slice.rows, slice.cols,
                                                               Eigen::OuterStride<>(loaded->stride)),
          slice.transposed};
}

template <class T>
VectorView<T> LayerWeights<T>::vector(const TensorSlice& slice) const {
  const LoadedSlice<T>* loaded = find(slice);
  RANKFALL_DCHECK(loaded != nullptr);
  RANKFALL_DCHECK(slice.rows == 1 || loaded->stride == slice.cols);
  return VectorView<T>(loaded->data, slice.rows * slice.cols);
}

}  // namespace rankfall
