#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/dense/attention.h"
#include "engine/dense/dense.h"
#include "linalg/attention_measures.h"
#include "linalg/norms_impl.h"
#include <rankfall/matrix.h>

namespace rankfall {

template <class T>
Rotary<T>::Rotary(const Attention& attention, const LoadedLayer<T>& layer, Index n)
    : d_head_(attention.d_head), rotary_(std::get_if<RotaryPositions>(&attention.positions)), table_(&layer.rotary) {
  if (!rotary_ || !depends_on_length(*rotary_)) return;
  own_ = rotary_table(n, d_head_, *rotary_).template cast<T>();
  table_ = &own_;
}

template <class T>
void Rotary<T>::turn(Matrix<T>& x) const {
  if (!rotary_) return;
  const auto cos = table_->cos.topRows(x.rows());
  const auto sin = table_->sin.topRows(x.rows());
  for (Index first = 0; first < x.cols(); first += d_head_) {
    const Matrix<T> a = x(Eigen::all, columns(first, false));
    const Matrix<T> b = x(Eigen::all, columns(first, true));
    x(Eigen::all, columns(first, false)) = a.cwiseProduct(cos) - b.cwiseProduct(sin);
    x(Eigen::all, columns(first, true)) = b.cwiseProduct(cos) + a.cwiseProduct(sin);
  }
}

template <class T>
void Rotary<T>::turn_back(Matrix<T>& x) const {
  if (!rotary_) return;
  const auto cos = table_->cos.topRows(x.rows());
  const auto sin = table_->sin.topRows(x.rows());
  for (Index first = 0; first < x.cols(); first += d_head_) {
    const Matrix<T> a = x(Eigen::all, columns(first, false));
    const Matrix<T> b = x(Eigen::all, columns(first, true));
    x(Eigen::all, columns(first, false)) = a.cwiseProduct(cos) + b.cwiseProduct(sin);
    x(Eigen::all, columns(first, true)) = b.cwiseProduct(cos) - a.cwiseProduct(sin);
  }
}

// Differences of the tables first: they are exact where angles are close.
template <class T>
Matrix<T> Rotary<T>::turns_less(const RowVector<T>& x, Index n, Index from) const {
  Matrix<T> out = Matrix<T>::Zero(n, x.size());
  if (!rotary_) return out;
  const RowVector<T> a = x(columns(0, false));
  const RowVector<T> b = x(columns(0, true));
  for (Index i = 0; i < n; ++i) {
    const RowVector<T> c = table_->cos.row(i) - table_->cos.row(from);
    const RowVector<T> s = table_->sin.row(i) - table_->sin.row(from);
    out(i, columns(0, false)) = a.cwiseProduct(c) - b.cwiseProduct(s);
    out(i, columns(0, true)) = b.cwiseProduct(c) + a.cwiseProduct(s);
  }
  return out;
}

template <class T>
void norm_heads(const std::optional<HeadNorm>& norm, const LayerWeights<T>& weights, Index d_head, Matrix<T>& x) {
  if (!norm) return;
  const Index width = norm->per_head ? d_head : x.cols();
  for (Index first = 0; first < x.cols(); first += width) {
    Matrix<T> part = x.middleCols(first, width);
    normalise_rows<T>(norm->norm, weights.vector(norm->norm.gain), weights.vector(norm->norm.bias), part);
    x.middleCols(first, width) = part;
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
      keys_(attention.mask, k.rows()),
      sink_(first_valid(valid)) {
  if (!std::holds_alternative<GaussianWeights>(attention.weights)) return;
  key_terms_.resize(attention.n_kv_heads, k.rows());
  for (Index head = 0; head < attention.n_kv_heads; ++head) {
    const auto keys = k.middleCols(head * attention.d_head, attention.d_head);
    key_terms_.row(head) = T(-attention.scale / 2) * keys.rowwise().squaredNorm().transpose();
  }
}

template <class T>
bool HeadScores<T>::sees(Index query, Index key) const {
  return keys_.allows(query, key) && (valid_.empty() || valid_[static_cast<std::size_t>(key)] != 0);
}

template <class T>
typename HeadScores<T>::Seen HeadScores<T>::seen(Index first, Index rows, Index first_key, Index keys) const {
  const Index last = first + rows - 1;
  const Index last_key = first_key + keys - 1;
  const Mask& mask = attention_.mask;
  if (mask.causal && first_key > last) return Seen::kNone;
  bool all = valid_.empty() && (!mask.causal || last_key <= first);
  if (mask.window > 0 && last >= mask.global && last_key >= mask.global) {
    bool any_far = first < mask.global || first_key < mask.global;
    for (Index block = first / mask.block; block <= last / mask.block; ++block) {
      for (Index of_keys = first_key / mask.block; of_keys <= last_key / mask.block; ++of_keys) {
        any_far = any_far || keys_.draws(block, of_keys);
      }
    }
    if (!any_far && std::max(first_key - last, first - last_key) > mask.window) return Seen::kNone;
    all = all && std::max(last - first_key, last_key - first) <= mask.window;
  }
  return all ? Seen::kAll : Seen::kSome;
}

template <class T>
void HeadScores<T>::logits(Index head, Index first, Index first_key, MutableMatrixRef<T> out) const {
  const Index d = attention_.d_head;
  const Index kv_head = head * attention_.n_kv_heads / attention_.n_heads;
  const auto queries = q_.block(first, head * d, out.rows(), d);
  const auto keys = k_.block(first_key, kv_head * d, out.cols(), d);
  const T scale = T(attention_.scale);
  if (const auto* xlnet = std::get_if<XlnetPositions>(&attention_.positions)) {
    const Matrix<T> shifted = queries.rowwise() + layer_.weights.vector(xlnet->u).segment(head * d, d);
    gemm<T>(false, true, scale, shifted, keys, T(0), out);
    add_xlnet_positions(*xlnet, head, first, first_key, out);
  } else {
    gemm<T>(false, true, scale, queries, keys, T(0), out);
  }
  if (std::holds_alternative<T5Positions>(attention_.positions)) {
    const Index longest = (layer_.distance_bias.cols() + 1) / 2;
    for (Index i = 0; i < out.rows(); ++i) {
      out.row(i) += layer_.distance_bias.row(head).segment(longest - 1 - (first + i) + first_key, out.cols());
    }
  }
  if (const auto* alibi = std::get_if<AlibiPositions>(&attention_.positions)) {
    const double slope = alibi->slope(head) * (alibi->before_scale ? attention_.scale : 1.0);
    for (Index i = 0; i < out.rows(); ++i) {
      for (Index j = 0; j < out.cols(); ++j) out(i, j) += T(slope) * T(static_cast<double>(first_key + j - first - i));
    }
  }
  if (attention_.soft_cap > 0) {
    const T cap = T(attention_.soft_cap);
    out = cap * (out.array() / cap).tanh();
  }
  if (key_terms_.size() > 0) out.rowwise() += key_terms_.row(kv_head).segment(first_key, out.cols());
}

// (q_i + v) . r_{i-j} and, for samples with segments, (q_i + s) . g_{same or not}.
template <class T>
void HeadScores<T>::add_xlnet_positions(const XlnetPositions& xlnet, Index head, Index first, Index first_key,
                                        MutableMatrixRef<T> out) const {
  const Index d = attention_.d_head;
  const Index n = out.cols();
  const Index rows = out.rows();
  const Index longest = (layer_.relative_keys.rows() + 1) / 2;
  const auto queries = q_.block(first, head * d, rows, d);
  const T scale = T(attention_.scale);

  // Pair (i, j) needs row t = longest - 1 - i + j of the table: contiguous in j, and the block's rows need one run of
  // it.
  const Index run_first = longest - 1 - (first + rows - 1) + first_key;
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
    for (Index j = 0; j < n; ++j) {
      out(i, j) += by_segment(i, segments_[static_cast<std::size_t>(first_key + j)] == mine ? 0 : 1);
    }
  }
}

template <class T>
bool HeadScores<T>::exponentials(Index query, Index first_key, Seen seen, T& largest,
                                 Eigen::Ref<RowVector<T>> row) const {
  if (seen == Seen::kAll) {
    largest = std::max<T>(largest, row.maxCoeff());
    row.array() = (row.array() - largest).exp();
    return true;
  }
  // Keys that are not seen take no part in the maximum, so a huge hidden logit cannot push the others to zero.
  bool any = false;
  for (Index j = 0; j < row.size(); ++j) {
    if (!sees(query, first_key + j)) continue;
    if (row(j) > largest) largest = row(j);
    any = true;
  }
  if (!any) {
    row.setZero();
    return false;
  }
  for (Index j = 0; j < row.size(); ++j) {
    row(j) = sees(query, first_key + j) ? row(j) - largest : -std::numeric_limits<T>::infinity();
  }
  row.array() = row.array().exp();
  for (Index j = 0; j < row.size(); ++j) {
    if (!sees(query, first_key + j)) row(j) = T(0);
  }
  return true;
}

template <class T>
void HeadScores<T>::note(Index first, Index first_key, Seen seen, const MatrixRef<T>& logits,
                         RowExtremes& extremes) const {
  for (Index i = 0; i < logits.rows(); ++i) {
    for (Index j = 0; j < logits.cols(); ++j) {
      if (seen != Seen::kAll && !sees(first + i, first_key + j)) continue;
      const double z = static_cast<double>(logits(i, j));
      extremes.smallest(i) = std::min(extremes.smallest(i), z);
      extremes.largest(i) = std::max(extremes.largest(i), z);
    }
  }
}

template <class T>
void HeadScores<T>::probabilities(Index head, Index first, MutableMatrixRef<T> out, RowExtremes* extremes) const {
  logits(head, first, out);
  const Seen all = attention_.mask.is_complete() && valid_.empty() ? Seen::kAll : Seen::kSome;
  if (extremes) note(first, 0, all, out, *extremes);
  for (Index i = 0; i < out.rows(); ++i) {
    auto row = out.row(i);
    T largest = -std::numeric_limits<T>::infinity();
    if (exponentials(first + i, 0, all, largest, row)) row /= row.sum();
  }
}

template <class T>
RowMeasures row_measures(const MatrixRef<T>& rows, Index sink) {
  RowMeasures out{RowVector<double>(rows.rows()), RowVector<double>(rows.rows())};
  for (Index i = 0; i < rows.rows(); ++i) {
    out.entropy(i) = row_entropy(rows.row(i).template cast<double>());
    out.sink(i) = static_cast<double>(rows(i, sink));
  }
  return out;
}

// Of row i so far, e^(l - m) with m the largest logit l yet: their sum, their sum weighted with the values (out), and,
// if measured, their sum weighted with l - m and the one of the sink. With p = e^(l - m) / s the entropy is
// -sum p (l - m - log s) = log s - weighted / s, both terms of one sign.
template <class T>
void HeadScores<T>::attend(Index head, Index first, const MatrixRef<T>& values, MutableMatrixRef<T> out,
                           RowMeasures* measures, RowExtremes* extremes) const {
  using std::exp;
  using std::log;
  using Sum = Accumulator<T>;
  const Index rows = out.rows();
  const Index n = k_.rows();
  RowVector<T> largest = RowVector<T>::Constant(rows, -std::numeric_limits<T>::infinity());
  RowVector<Sum> sum = RowVector<Sum>::Zero(rows);
  RowVector<Sum> weighted = RowVector<Sum>::Zero(rows);
  RowVector<Sum> sink = RowVector<Sum>::Zero(rows);
  Matrix<T> tile(rows, std::min(kTileKeys, n));
  RowVector<T> shifted;
  out.setZero();
  for (Index first_key = 0; first_key < n; first_key += kTileKeys) {
    const Index keys = std::min(kTileKeys, n - first_key);
    const Seen of_tile = seen(first, rows, first_key, keys);
    if (of_tile == Seen::kNone) continue;
    auto block = tile.leftCols(keys);
    logits(head, first, first_key, block);
    if (extremes) note(first, first_key, of_tile, block, *extremes);
    for (Index i = 0; i < rows; ++i) {
      auto row = block.row(i);
      if (measures) shifted = row;
      const T before = largest(i);
      if (!exponentials(first + i, first_key, of_tile, largest(i), row)) continue;
      if (sum(i) != Sum(0) && before != largest(i)) {
        const Sum shift = Sum(before) - Sum(largest(i));
        const Sum factor = exp(shift);
        out.row(i) *= static_cast<T>(factor);
        weighted(i) = factor * (weighted(i) + shift * sum(i));
        sink(i) *= factor;
        sum(i) *= factor;
      }
      sum(i) += Sum(row.sum());
      if (!measures) continue;
      // Where e^(l - m) is 0 the logit does not count, and may be anything.
      shifted = (row.array() == T(0)).select(T(0), shifted.array() - largest(i));
      weighted(i) += Sum(row.dot(shifted));
      if (sink_ >= first_key && sink_ < first_key + keys) sink(i) = Sum(row(sink_ - first_key));
    }
    gemm<T>(false, false, T(1), block, values.middleRows(first_key, keys), T(1), out);
  }
  if (measures) {
    measures->entropy.setZero(rows);
    measures->sink.setZero(rows);
  }
  for (Index i = 0; i < rows; ++i) {
    if (sum(i) == Sum(0)) continue;
    out.row(i) *= static_cast<T>(Sum(1) / sum(i));
    if (!measures) continue;
    measures->entropy(i) = static_cast<double>(Sum(log(sum(i)) - weighted(i) / sum(i)));
    measures->sink(i) = static_cast<double>(Sum(sink(i) / sum(i)));
  }
}

}  // namespace rankfall
