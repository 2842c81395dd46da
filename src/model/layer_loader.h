#pragma once

#include <utility>
#include <variant>

#include "model/layer_weights.h"
#include "model/sinusoid.h"

namespace rankfall {

// A sub-layer with what all samples share while it runs: its weights and tables made from them.
template <class T>
struct LoadedLayer {
  Index index = 0;
  const SubLayer* layer = nullptr;
  LayerWeights<T> weights;
  // XLNet: row t is r_m = sinusoid(m) W_r for the relative position m = (n - 1) - t, t = 0..2n-2, n the longest sample.
  Matrix<T> relative_keys;
};

// Loads sub-layers one at a time; tensors that the next one shares with the last are not loaded again.
template <class T>
class LayerLoader {
 public:
  LayerLoader(const Network& network, const WeightSource& source, Index max_tokens)
      : network_(network), source_(source), max_tokens_(max_tokens) {}

  // Valid until the next call.
  const LoadedLayer<T>& load(Index index) {
    const SubLayer& layer = network_.layers[static_cast<std::size_t>(index)];
    LoadedLayer<T> next;
    next.index = index;
    next.layer = &layer;
    next.weights = LayerWeights<T>(slices_of(layer), network_.tensors, source_, &current_.weights);
    if (const auto* attention = std::get_if<Attention>(&layer.f)) {
      if (const auto* xlnet = std::get_if<XlnetPositions>(&attention->positions)) {
        next.relative_keys =
            linear<T>(sinusoid(xlnet->r.n_in()), next.weights.matrix(xlnet->r.w), next.weights.vector(xlnet->r.b));
      }
    }
    current_ = std::move(next);
    return current_;
  }

 private:
  const Matrix<T>& sinusoid(Index d) {
    if (sinusoid_.cols() != d) sinusoid_ = xlnet_sinusoid(max_tokens_, d).cast<T>();
    return sinusoid_;
  }

  const Network& network_;
  const WeightSource& source_;
  Index max_tokens_;
  LoadedLayer<T> current_;
  Matrix<T> sinusoid_;
};

}  // namespace rankfall
