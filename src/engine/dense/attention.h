#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "engine/layer_loader.h"
#include "network/seen_keys.h"
#include <rankfall/matrix.h>
#include <rankfall/network.h>

namespace rankfall {

// Queries are worked on in blocks of this many rows, so that P exists as kQueryRows x n unless somebody needs it whole.
inline constexpr Index kQueryRows = 128;

// A sample of more tokens is worked on in tiles of kTileKeys keys with an online softmax, and tiles that the mask hides
// are left out. The shape decides, never who looks on or how many threads there are. On one core (bench_attention) a
// tile costs what the same part of a row does up to 8,192 tokens, and 0.86 of it at 32,768.
inline constexpr Index kTiledAbove = 1024;
inline constexpr Index kTileKeys = 512;

// Of each row of a block of P.
struct RowMeasures {
  RowVector<double> entropy;  // in nats
  RowVector<double> sink;     // mass on the first token that is no padding
};

// Of each row of a block of logits, among the keys that are seen.
struct RowExtremes {
  explicit RowExtremes(Index rows)
      : smallest(RowVector<double>::Constant(rows, std::numeric_limits<double>::infinity())), largest(-smallest) {}
  RowVector<double> smallest, largest;
};

// Of whole rows of P; `sink` is the key that counts as one.
template <class T>
RowMeasures row_measures(const MatrixRef<T>& rows, Index sink);

// The first token that is no padding; 0 if there is none.
inline Index first_valid(std::span<const std::uint8_t> valid) {
  const auto found = std::ranges::find_if(valid, [](std::uint8_t v) { return v != 0; });
  return found == valid.end() ? 0 : static_cast<Index>(found - valid.begin());
}

// How queries and keys of one sample are turned by rotary positions; does nothing for other schemes.
template <class T>
class Rotary {
 public:
  // n: tokens of the sample. `layer` must outlive this.
  Rotary(const Attention& attention, const LoadedLayer<T>& layer, Index n);
  Rotary(const Rotary&) = delete;
  Rotary& operator=(const Rotary&) = delete;

  // Turns row p of x, one head or several side by side, to position p. Rows may be fewer than n.
  void turn(Matrix<T>& x) const;
  // Its transpose: turns back, as much longer as turn() makes them.
  void turn_back(Matrix<T>& x) const;
  // Row p is x, a vector of one head, turned to position p, less x turned to position `from`. Channels that are not
  // turned give zero.
  Matrix<T> turns_less(const RowVector<T>& x, Index n, Index from) const;
  // By what turning makes the turned channels longer, and their number.
  double magnitude() const { return rotary_ ? rotary_->magnitude : 1; }
  Index channels() const { return rotary_ ? 2 * table_->cos.cols() : 0; }

 private:
  // The columns of the first and the second channel of pairs, of the head that begins at column `first`.
  auto columns(Index first, bool second) const {
    const Index half = table_->cos.cols();
    return rotary_->interleaved ? Eigen::seqN(first + (second ? 1 : 0), half, 2)
                                : Eigen::seqN(first + (second ? half : 0), half, 1);
  }

  Index d_head_;
  const RotaryPositions* rotary_;
  RotaryTable<T> own_;
  const RotaryTable<T>* table_;
};

// Norms queries or keys, each head's channels or all together.
template <class T>
void norm_heads(const std::optional<HeadNorm>& norm, const LayerWeights<T>& weights, Index d_head, Matrix<T>& x);

// Logits and probabilities of one head, in blocks of query rows. Built once per sample and layer from the projected
// queries and keys; const and thread-safe afterwards.
template <class T>
class HeadScores {
 public:
  // q: [n, n_heads * d_head], k: [n, n_kv_heads * d_head], both must outlive this.
  HeadScores(const Attention& attention, const LoadedLayer<T>& layer, const Matrix<T>& q, const Matrix<T>& k,
             std::span<const std::uint8_t> valid, std::span<const std::int32_t> segments);

  // out := rows first.. of P of head `head`; out has the block's rows and n columns. Masked and padded keys get 0; a
  // query that may see no key gets a row of zeros. `extremes` may be null.
  void probabilities(Index head, Index first, MutableMatrixRef<T> out, RowExtremes* extremes = nullptr) const;

  // Of rows that probabilities() made.
  RowMeasures measures(const MatrixRef<T>& rows) const { return row_measures<T>(rows, sink_); }

  // out := rows first.. of P times `values` [n, d], P in tiles. `measures` and `extremes` may be null.
  void attend(Index head, Index first, const MatrixRef<T>& values, MutableMatrixRef<T> out, RowMeasures* measures,
              RowExtremes* extremes = nullptr) const;

  // Rows first.., columns first_key.. of the logits, before softmax and mask; what GaussianWeights add is part of them.
  void logits(Index head, Index first, Index first_key, MutableMatrixRef<T> out) const;
  void logits(Index head, Index first, MutableMatrixRef<T> out) const { logits(head, first, 0, out); }

  // What of a tile is seen; kSome may be said of all or none.
  enum class Seen { kNone, kSome, kAll };
  Seen seen(Index first, Index rows, Index first_key, Index keys) const;

 private:
  void add_xlnet_positions(const XlnetPositions& xlnet, Index head, Index first, Index first_key,
                           MutableMatrixRef<T> out) const;
  bool sees(Index query, Index key) const;
  // Of rows first.. and columns first_key.. of the logits.
  void note(Index first, Index first_key, Seen seen, const MatrixRef<T>& logits, RowExtremes& extremes) const;
  // row := e^(row - m) where seen and 0 elsewhere, m = max(largest, the row); true if anything is. largest := m.
  bool exponentials(Index query, Index first_key, Seen seen, T& largest, Eigen::Ref<RowVector<T>> row) const;

  const Attention& attention_;
  const LoadedLayer<T>& layer_;
  const Matrix<T>& q_;
  const Matrix<T>& k_;
  std::span<const std::uint8_t> valid_;
  std::span<const std::int32_t> segments_;
  SeenKeys keys_;
  Matrix<T> key_terms_;  // of GaussianWeights, [n_kv_heads, n]: -scale |k_j|^2 / 2
  Index sink_ = 0;
};

}  // namespace rankfall
