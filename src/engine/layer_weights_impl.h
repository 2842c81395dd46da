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
  const StoredRows stored = stored_rows(slice, spec);
  RANKFALL_DCHECK(stored.first + stored.count <= spec.matrix_rows() && slice.col + slice.cols <= cols);
  const TensorData data = source.rows(slice.tensor, stored.first, stored.count);
  LoadedSlice<T> loaded{slice, nullptr, 0, nullptr};
  const bool same_type = (std::is_same_v<T, float> && data.dtype == DType::kF32) ||
                         (std::is_same_v<T, double> && data.dtype == DType::kF64);
  const bool as_stored = slice.run == 0 && spec.offset == 0;
  if (same_type && as_stored && reinterpret_cast<std::uintptr_t>(data.bytes.data()) % alignof(T) == 0) {
    loaded.data = reinterpret_cast<const T*>(data.bytes.data()) + slice.col;
    loaded.stride = cols;
    loaded.keep = data.keep;
    return loaded;
  }
  // Every file type fits in a double exactly; other scalars take that way round.
  using Wide = std::conditional_t<std::is_same_v<T, float>, float, double>;
  auto copy = std::make_shared<Matrix<T>>(slice.rows, slice.cols);
  const std::size_t element = dtype_size(data.dtype);
  // `count` entries from column `from` of stored row r on, to column `to` of row `row`.
  const auto widen_to = [&](Index row, Index to, Index r, Index from, Index count) {
    const auto n = static_cast<std::size_t>(count);
    const auto bytes = data.bytes.subspan(static_cast<std::size_t>(r * cols + from) * element, n * element);
    if constexpr (std::is_same_v<T, Wide>) {
      widen<Wide>(data.dtype, bytes, std::span<Wide>(copy->row(row).data() + to, n));
    } else {
      RowVector<Wide> wide(count);
      widen<Wide>(data.dtype, bytes, std::span<Wide>(wide.data(), n));
      copy->row(row).segment(to, count) = wide.template cast<T>();
    }
  };
  if (slice.run > 0 && is_vector(spec)) {
    for (Index to = 0; to < slice.cols; to += slice.run) {
      widen_to(0, to, 0, slice.col + to / slice.run * slice.period, std::min(slice.run, slice.cols - to));
    }
  } else {
    parallel_for(slice.rows, [&](Index r) {
      const Index stored_row = slice.run > 0 ? r / slice.run * slice.period + r % slice.run : r;
      widen_to(r, 0, stored_row, slice.col, slice.cols);
    });
  }
  if (spec.offset != 0) copy->array() += T(spec.offset);
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
