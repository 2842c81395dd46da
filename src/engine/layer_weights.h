#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "linalg/linear.h"
#include <rankfall/model.h>
#include <rankfall/network.h>

namespace rankfall {

// All tensor slices a sub-layer refers to.
std::vector<TensorSlice> slices_of(const SubLayer& layer);
std::vector<TensorSlice> slices_of(const Linear& linear);
std::vector<TensorSlice> slices_of(const Norm& norm);
// Of an attention those of its positions and of the norms of its heads.
std::vector<TensorSlice> position_slices(const Attention& attention);

inline bool is_vector(const TensorSpec& spec) { return spec.shape.size() == 1; }

// The rows of the stored tensor that a slice is part of.
struct StoredRows {
  Index first = 0, count = 0;
};
StoredRows stored_rows(const TensorSlice& slice, const TensorSpec& spec);

// One slice in memory as T: a view of the source's bytes where type and alignment fit, otherwise a widened copy.
template <class T>
struct LoadedSlice {
  TensorSlice slice;
  const T* data = nullptr;
  Index stride = 0;
  std::shared_ptr<const void> keep;
};

template <class T>
LoadedSlice<T> load_slice(const TensorSlice& slice, const std::vector<TensorSpec>& tensors, const WeightSource& source);

// The weights of one sub-layer (or of any list of slices), loaded when constructed and released with it. Thread-safe.
template <class T>
class LayerWeights {
 public:
  LayerWeights() = default;
  // Slices that `before` holds already are shared with it (ALBERT's blocks are all the same tensors).
  LayerWeights(const std::vector<TensorSlice>& slices, const std::vector<TensorSpec>& tensors,
               const WeightSource& source, const LayerWeights* before = nullptr);

  WeightView<T> matrix(const TensorSlice& slice) const;
  // A slice as one row; for [heads, d_head] tables all rows, one after the other.
  VectorView<T> vector(const TensorSlice& slice) const;
  VectorView<T> vector(const std::optional<TensorSlice>& slice) const {
    return slice ? vector(*slice) : VectorView<T>(nullptr, 0);
  }

 private:
  const LoadedSlice<T>* find(const TensorSlice& slice) const;
  std::vector<LoadedSlice<T>> slices_;
};

}  // namespace rankfall
