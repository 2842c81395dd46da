#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "base/parallel.h"
#include "engine/layer_weights.h"
#include "engine/position_tables.h"
#include "network/attention/kind.h"
#include <rankfall/matrix.h>

namespace rankfall {

// A sub-layer with what all samples share while it runs: its weights and tables made from them.
template <class T>
struct LoadedLayer {
  Index index = 0;
  const SubLayer* layer = nullptr;
  LayerWeights<T> weights;
  // XLNet: row t is r_m = sinusoid(m) W_r for the relative position m = (n - 1) - t, t = 0..2n-2, n the longest sample.
  Matrix<T> relative_keys;
  // T5: row h, column t: the bias of head h at the distance j - i = t - (n - 1).
  Matrix<T> distance_bias;
  // Rotary, unless the frequencies depend on the length of a sample.
  RotaryTable<T> rotary;
  // Products of thin matrices: drawn_matrix of each head.
  std::vector<Matrix<T>> drawn;
};

// Loads sub-layers one at a time; tensors that the next one shares with the last are not loaded again.
template <class T>
class LayerLoader {
 public:
  enum class Load {
    kAll,
    kPositions,  // only what acts on queries and keys once they are made: position tables, norms of heads, drawn
                 // numbers
  };
  LayerLoader(const Network& network, const WeightSource& source, Index max_tokens, Load load = Load::kAll)
      : network_(network), source_(source), max_tokens_(max_tokens), load_(load) {}

  // Valid until the next call.
  const LoadedLayer<T>& load(Index index) {
    const SubLayer& layer = network_.layers[static_cast<std::size_t>(index)];
    LoadedLayer<T> next;
    next.index = index;
    next.layer = &layer;
    next.weights = LayerWeights<T>(slices(layer), network_.tensors, source_, &current_.weights);
    if (const Attention* attention = layer.attention()) {
      std::visit([&](const auto& positions) { make_tables(*attention, positions, next); }, attention->positions);
      if (is_low_rank(attention->weights)) draw(*attention, next);
    }
    current_ = std::move(next);
    if (load_ == Load::kAll && index + 1 < std::ssize(network_.layers)) prefetch(index + 1);
    return current_;
  }

 private:
  std::vector<TensorSlice> slices(const SubLayer& layer) const {
    if (load_ == Load::kAll) return slices_of(layer);
    return layer.attention() ? position_slices(*layer.attention()) : std::vector<TensorSlice>();
  }

  // Of the sub-layer after this one, while this one is worked on.
  void prefetch(Index index) {
    for (const TensorSlice& slice : slices_of(network_.layers[static_cast<std::size_t>(index)])) {
      const StoredRows rows = stored_rows(slice, network_.tensors[static_cast<std::size_t>(slice.tensor)]);
      source_.prefetch(slice.tensor, rows.first, rows.count);
    }
  }

  void make_tables(const Attention&, const NoPositions&, LoadedLayer<T>&) {}

  void make_tables(const Attention&, const XlnetPositions& xlnet, LoadedLayer<T>& next) {
    next.relative_keys =
        linear<T>(sinusoid(xlnet.r.n_in()), next.weights.matrix(xlnet.r.w), next.weights.vector(xlnet.r.b));
  }

  void make_tables(const Attention&, const T5Positions& t5, LoadedLayer<T>& next) {
    const auto table = next.weights.matrix(t5.bias).stored;
    next.distance_bias.resize(table.cols(), 2 * max_tokens_ - 1);
    for (Index t = 0; t < next.distance_bias.cols(); ++t) {
      next.distance_bias.col(t) =
          table.row(t5_bucket(t - (max_tokens_ - 1), table.rows(), t5.max_distance)).transpose();
    }
  }

  void make_tables(const Attention& attention, const RotaryPositions& rotary, LoadedLayer<T>& next) {
    if (!depends_on_length(rotary)) next.rotary = rotary_table(max_tokens_, attention.d_head, rotary).cast<T>();
  }

  void make_tables(const Attention&, const AlibiPositions&, LoadedLayer<T>&) {}

  void draw(const Attention& attention, LoadedLayer<T>& next) {
    next.drawn.resize(static_cast<std::size_t>(attention.n_heads));
    parallel_for(attention.n_heads, [&](Index head) {
      next.drawn[static_cast<std::size_t>(head)] =
          drawn_matrix(attention, next.layer->block, head, max_tokens_).template cast<T>();
    });
  }

  const Matrix<T>& sinusoid(Index d) {
    if (sinusoid_.cols() != d) sinusoid_ = xlnet_sinusoid(max_tokens_, d).cast<T>();
    return sinusoid_;
  }

  const Network& network_;
  const WeightSource& source_;
  Index max_tokens_;
  Load load_;
  LoadedLayer<T> current_;
  Matrix<T> sinusoid_;
};

}  // namespace rankfall
