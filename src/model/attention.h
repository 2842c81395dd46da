#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/layer_loader.h"
#include <rankfall/network.h>

namespace rankfall {

// Logits and probabilities of one head, in blocks of query rows. Built once per sample and layer from the projected
// queries and keys; const and thread-safe afterwards.
template <class T>
class HeadScores {
 public:
  // q: [n, n_heads * d_head], k: [n, n_kv_heads * d_head], both must outlive this.
  HeadScores(const Attention& attention, const LoadedLayer<T>& layer, const Matrix<T>& q, const Matrix<T>& k,
             std::span<const std::uint8_t> valid, std::span<const std::int32_t> segments);

  // out := rows first.. of P of head `head`; out has the block's rows and n columns. Masked and padded keys get 0; a
  // query that may see no key gets a row of zeros.
  void probabilities(Index head, Index first, MutableMatrixRef<T> out) const;

  // The same rows before softmax and mask.
  void logits(Index head, Index first, MutableMatrixRef<T> out) const;

 private:
  void add_xlnet_positions(const XlnetPositions& xlnet, Index head, Index first, MutableMatrixRef<T> out) const;
  bool sees(Index query, Index key) const;

  const Attention& attention_;
  const LoadedLayer<T>& layer_;
  const Matrix<T>& q_;
  const Matrix<T>& k_;
  std::span<const std::uint8_t> valid_;
  std::span<const std::int32_t> segments_;
  bool everything_seen_;
};

}  // namespace rankfall
