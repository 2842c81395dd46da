#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <rankfall/matrix.h>
#include <rankfall/network.h>

namespace rankfall {

// P of one head as a product of n x k and k x n, never formed as a whole. Const and thread-safe once built.
template <class T>
class LowRankHead {
 public:
  // q, k: [n, d_head] of the head, positions included; padding takes no part. `drawn` is its drawn_matrix of n tokens
  // or more. None of them need outlive this.
  LowRankHead(const Attention& attention, const MatrixRef<T>& drawn, const MatrixRef<T>& q, const MatrixRef<T>& k,
              std::span<const std::uint8_t> valid);

  // out := rows first.. of P; as many as out has. A query that may see no key gets a row of zeros.
  void rows(Index first, MutableMatrixRef<T> out) const;
  // out := P values, all rows.
  void attend(const MatrixRef<T>& values, MutableMatrixRef<T> out) const;

 private:
  void make(const LinformerWeights& weights, const MatrixRef<T>& e, const MatrixRef<T>& q, const MatrixRef<T>& k);
  void make(const NystromWeights& weights, const MatrixRef<T>& none, const MatrixRef<T>& q, const MatrixRef<T>& k);
  void make(const FeatureWeights& weights, const MatrixRef<T>& directions, const MatrixRef<T>& q,
            const MatrixRef<T>& k);
  RowVector<T> causal_row(Index query) const;

  double scale_;
  bool causal_;
  std::vector<Index> tokens_;      // that are no padding
  Matrix<T> left_, right_;         // of a causal mask: before each row is divided by its sum
  Matrix<T> log_left_, log_keys_;  // of a causal mask: logarithms of the features, [n, k] both
};

}  // namespace rankfall
