#pragma once

#include <algorithm>
#include <cmath>

#include "model/attention.h"

namespace rankfall {

// Turns each head's pair of channels (c, c + d/2) of token p by the table's angle.
template <class T>
void rotate_heads(const LoadedLayer<T>& layer, Index d_head, Matrix<T>& x) {
  const Index half = d_head / 2;
  const auto cos = layer.rotary_cos.topRows(x.rows());
  const auto sin = layer.rotary_sin.topRows(x.rows());
  for (Index first = 0; first < x.cols(); first += d_head) {
    const Matrix<T> a = x.middleCols(first, half);
    const Matrix<T> b = x.middleCols(first + half, half);
    x.middleCols(first, half) = a.cwiseProduct(cos) - b.cwiseProduct(sin);
    x.middleCols(first + half, half) = b.cwiseProduct(cos) + a.cwiseProduct(sin);
  }
}

template <class T>
HeadScores<T>::HeadScores(const Attention& attention, const LoadedLayer<T>& layer, const Matrix<T>& q,
                          const Matrix<T>& k, std::span<const std::uint8_t> valid,
                          std::span<const std::int32_t> segments)
    : attention_(attention),
      layer_(layer),
      q_(q),
      k_(k),
      valid_(valid),
      segments_(segments),
      everything_seen_(attention.mask.is_complete() && valid.empty()) {}

template <class T>
bool HeadScores<T>::sees(Index query, Index key) const {
  return attention_.mask.allows(query, key) && (valid_.empty() || valid_[static_cast<std::size_t>(key)] != 0);
}

template <class T>
void HeadScores<T>::logits(Index head, Index first, MutableMatrixRef<T> out) const {
  const Index d = attention_.d_head;
  const Index kv_head = head * attention_.n_kv_heads / attention_.n_heads;
  const auto queries = q_.block(first, head * d, out.rows(), d);
  const auto keys = k_.middleCols(kv_head * d, d);
  const T scale = T(attention_.scale);
  if (const auto* xlnet = std::get_if<XlnetPositions>(&attention_.positions)) {
    const Matrix<T> shifted = queries.rowwise() + layer_.weights.vector(xlnet->u).segment(head * d, d);
    gemm<T>(false, true, scale, shifted, keys, T(0), out);
    add_xlnet_positions(*xlnet, head, first, out);
  } else {
    gemm<T>(false, true, scale, queries, keys, T(0), out);
  }
  if (std::holds_alternative<T5Positions>(attention_.positions)) {
    const Index longest = (layer_.distance_bias.cols() + 1) / 2;
    for (Index i = 0; i < out.rows(); ++i) {
      out.row(i) += layer_.distance_bias.row(head).segment(longest - 1 - (first + i), out.cols());
    }
  }
}

// (q_i + v) . r_{i-j} and, for samples with segments, (q_i + s) . g_{same or not}.
template <class T>
void HeadScores<T>::add_xlnet_positions(const XlnetPositions& xlnet, Index head, Index first,
                                        MutableMatrixRef<T> out) const {
  const Index d = attention_.d_head;
  const Index n = out.cols();
  const Index rows = out.rows();
  const Index longest = (layer_.relative_keys.rows() + 1) / 2;
  const auto queries = q_.block(first, head * d, rows, d);
  const T scale = T(attention_.scale);

  // Pair (i, j) needs row t = longest - 1 - i + j of the table: contiguous in j, and the block's rows need one run of
  // it.
  const Index run_first = longest - 1 - (first + rows - 1);
  const Matrix<T> shifted = queries.rowwise() + layer_.weights.vector(xlnet.v).segment(head * d, d);
  Matrix<T> by_distance(rows, n + rows - 1);
  gemm<T>(false, true, scale, shifted, layer_.relative_keys.block(run_first, head * d, n + rows - 1, d), T(0),
          by_distance);
  for (Index i = 0; i < rows; ++i) out.row(i) += by_distance.row(i).segment(rows - 1 - i, n);

  if (segments_.empty()) return;
  const Matrix<T> biased = queries.rowwise() + layer_.weights.vector(xlnet.s).segment(head * d, d);
  Matrix<T> by_segment(rows, 2);  // same segment, other segment
  gemm<T>(false, true, scale, biased, layer_.weights.matrix(xlnet.segment_embedding).stored.middleCols(head * d, d),
          T(0), by_segment);
  for (Index i = 0; i < rows; ++i) {
    const std::int32_t mine = segments_[static_cast<std::size_t>(first + i)];
    for (Index j = 0; j < n; ++j) out(i, j) += by_segment(i, segments_[static_cast<std::size_t>(j)] == mine ? 0 : 1);
  }
}

template <class T>
void HeadScores<T>::probabilities(Index head, Index first, MutableMatrixRef<T> out) const {
  logits(head, first, out);
  const Index n = out.cols();
  for (Index i = 0; i < out.rows(); ++i) {
    auto row = out.row(i);
    if (everything_seen_) {
      row.array() = (row.array() - row.maxCoeff()).exp();
      row /= row.sum();
      continue;
    }
    // Keys that are not seen take no part in the maximum, so a huge hidden logit cannot push the others to zero.
    bool any = false;
    T largest = T(0);
    for (Index j = 0; j < n; ++j) {
      if (!sees(first + i, j)) continue;
      if (!any || row(j) > largest) largest = row(j);
      any = true;
    }
    for (Index j = 0; j < n; ++j) row(j) = sees(first + i, j) ? row(j) - largest : -std::numeric_limits<T>::infinity();
    row.array() = row.array().exp();
    for (Index j = 0; j < n; ++j) {
      if (!sees(first + i, j)) row(j) = T(0);
    }
    if (any) row /= row.sum();
  }
}

}  // namespace rankfall
