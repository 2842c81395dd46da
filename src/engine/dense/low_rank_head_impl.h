#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "engine/dense/attention.h"
#include "engine/dense/low_rank_head.h"
#include "linalg/gemm_impl.h"
#include "linalg/norms_impl.h"
#include "linalg/svd.h"
#include "network/attention/kind.h"
#include <rankfall/matrix.h>

namespace rankfall {

template <class T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// Row-wise, in place.
template <class T>
void softmax_rows(Matrix<T>& x) {
  for (Index i = 0; i < x.rows(); ++i) {
    auto row = x.row(i);
    const T largest = row.maxCoeff();
    row.array() = (row.array() - largest).exp();
    row /= row.sum();
  }
}

// scale a b^T.
template <class T>
Matrix<T> scaled_product(double scale, const MatrixRef<T>& a, const MatrixRef<T>& b) {
  return product<T>(false, true, a, b, T(scale));
}

// Means of `n_runs` runs of the chosen rows, as equal in length as can be.
template <class Wide>
Matrix<Wide> run_means(const auto& x, const std::vector<Index>& rows, Index n_runs) {
  Matrix<Wide> out = Matrix<Wide>::Zero(n_runs, x.cols());
  const auto n = std::ssize(rows);
  for (Index r = 0; r < n_runs; ++r) {
    const Index begin = r * n / n_runs;
    const Index end = (r + 1) * n / n_runs;
    for (Index i = begin; i < end; ++i) out.row(r) += x.row(rows[static_cast<std::size_t>(i)]).template cast<Wide>();
    out.row(r) /= Wide(static_cast<double>(end - begin));
  }
  return out;
}

template <class T>
LowRankHead<T>::LowRankHead(const Attention& attention, const MatrixRef<T>& drawn, const MatrixRef<T>& q,
                            const MatrixRef<T>& k, std::span<const std::uint8_t> valid)
    : scale_(attention.scale), causal_(attention.mask.causal), tokens_(valid_rows(k.rows(), valid)) {
  if (tokens_.empty()) {  // nothing to see
    causal_ = false;
    left_.setZero(q.rows(), 1);
    right_.setZero(1, k.rows());
    return;
  }
  std::visit(
      [&](const auto& weights) {
        if constexpr (requires { make(weights, drawn, q, k); }) make(weights, drawn, q, k);
      },
      attention.weights);
}

template <class T>
void LowRankHead<T>::make(const LinformerWeights& weights, const MatrixRef<T>& e, const MatrixRef<T>& q,
                          const MatrixRef<T>& k) {
  const auto n = std::ssize(tokens_);
  const Index rank = thin_width(weights, n);
  right_ = Matrix<T>::Zero(rank, k.rows());
  if (weights.pooled) {
    for (Index r = 0; r < rank; ++r) {
      const Index begin = r * n / rank;
      const Index end = (r + 1) * n / rank;
      for (Index i = begin; i < end; ++i) {
        right_(r, tokens_[static_cast<std::size_t>(i)]) = T(1) / T(static_cast<double>(end - begin));
      }
    }
  } else {
    for (const Index i : tokens_) right_.col(i) = e.col(i);
  }
  left_ = scaled_product<T>(scale_, q, product<T>(false, false, right_, k));
  softmax_rows(left_);
}

// The pseudo-inverse has large entries where landmarks are alike, and of many landmarks some are: it is made and used
// in double, and multiplied to the left, where its large entries meet differences that are as small.
template <class T>
void LowRankHead<T>::make(const NystromWeights& weights, const MatrixRef<T>& /*none*/, const MatrixRef<T>& q,
                          const MatrixRef<T>& k) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
  const auto n = std::ssize(tokens_);
  const Index rank = thin_width(weights, n);
  const Matrix<Wide> queries = run_means<Wide>(q, tokens_, rank);
  const Matrix<Wide> keys = run_means<Wide>(k, tokens_, rank);
  Matrix<Wide> middle = scaled_product<Wide>(scale_, queries, keys);
  softmax_rows(middle);
  const Matrix<Wide> inverse = pseudo_inverse(middle.template cast<double>()).template cast<Wide>();
  Matrix<Wide> near = scaled_product<Wide>(scale_, Matrix<Wide>(q.template cast<Wide>()), keys);
  softmax_rows(near);
  left_ = product<Wide>(false, false, near, inverse).template cast<T>();
  const Matrix<Wide> seen = k(tokens_, Eigen::all).template cast<Wide>();
  Matrix<Wide> across = scaled_product<Wide>(scale_, queries, seen);
  softmax_rows(across);
  right_ = Matrix<T>::Zero(rank, k.rows());
  right_(Eigen::all, tokens_) = across.template cast<T>();
}

// f(x) = e^(w . x - |x|^2 / 2) over the directions w, of x times sqrt(scale); |q|^2 is the same for a whole row of P
// and left out. Of the keys the largest exponent of each feature is taken out and given to the queries, of these the
// largest of each row. So every row has a feature that is 1 in it and in some key, and no sum is less than 1.
template <class T>
void LowRankHead<T>::make(const FeatureWeights& weights, const MatrixRef<T>& directions, const MatrixRef<T>& q,
                          const MatrixRef<T>& k) {
  const double root = std::sqrt(scale_);
  left_ = scaled_product<T>(root, q, directions);
  Matrix<T> keys = scaled_product<T>(root, k, directions);
  for (Index i = 0; i < keys.rows(); ++i) keys.row(i).array() -= T(scale_ / 2) * k.row(i).squaredNorm();
  RowVector<T> largest = keys.row(tokens_[0]);
  for (const Index i : tokens_) largest = largest.cwiseMax(keys.row(i));
  right_ = Matrix<T>::Zero(weights.features, k.rows());
  for (const Index i : tokens_) right_.col(i) = (keys.row(i) - largest).array().exp().transpose();
  if (causal_) {
    log_left_ = left_;
    log_keys_ = std::move(keys);
  }
  for (Index i = 0; i < left_.rows(); ++i) {
    left_.row(i) += largest;
    const T most = left_.row(i).maxCoeff();
    left_.row(i).array() = (left_.row(i).array() - most).exp();
  }
  if (causal_) return;
  const Column<T> sums = left_ * right_.rowwise().sum();
  for (Index i = 0; i < left_.rows(); ++i) left_.row(i) /= sums(i);
}

// Where the largest exponents of a causal mask are those of later keys, the sum over earlier ones may be too small to
// be right. What is lost of it is less than n k times the smallest number, hence not seen in a sum of this size.
template <class T>
bool is_safe(const T& sum) {
  using Limits = std::numeric_limits<T>;
  return !(sum < Limits::min() / (Limits::epsilon() * Limits::epsilon()));
}

// Row `query` of P from the logarithms: exponents as above, but of the keys that it sees.  Cost: n k exponentials.
template <class T>
RowVector<T> LowRankHead<T>::causal_row(Index query) const {
  RowVector<T> row = RowVector<T>::Zero(log_keys_.rows());
  if (tokens_[0] > query) return row;
  RowVector<T> largest = log_keys_.row(tokens_[0]);
  for (const Index j : tokens_) {
    if (j <= query) largest = largest.cwiseMax(log_keys_.row(j));
  }
  RowVector<T> left = log_left_.row(query) + largest;
  const T most = left.maxCoeff();
  left = (left.array() - most).exp();
  for (const Index j : tokens_) {
    if (j <= query) row(j) = (log_keys_.row(j) - largest).array().exp().matrix().dot(left);
  }
  return row / row.sum();
}

template <class T>
void LowRankHead<T>::rows(Index first, MutableMatrixRef<T> out) const {
  gemm<T>(false, false, T(1), left_.middleRows(first, out.rows()), right_, T(0), out);
  if (!causal_) return;
  for (Index i = 0; i < out.rows(); ++i) {
    out.row(i).tail(out.cols() - (first + i) - 1).setZero();
    const T sum = out.row(i).sum();
    if (is_safe(sum)) {
      out.row(i) /= sum;
    } else {
      out.row(i) = causal_row(first + i);
    }
  }
}

template <class T>
void LowRankHead<T>::attend(const MatrixRef<T>& values, MutableMatrixRef<T> out) const {
  const Index rank = right_.rows();
  if (!causal_) {
    gemm<T>(false, false, T(1), left_, product<T>(false, false, right_, values), T(0), out);
    return;
  }
  // A run of rows at a time: what came before as sums, and the run itself as a triangle.
  Matrix<T> before = Matrix<T>::Zero(rank, values.cols());
  Column<T> weight = Column<T>::Zero(rank);
  for (Index first = 0; first < out.rows(); first += kQueryRows) {
    const Index n = std::min(kQueryRows, out.rows() - first);
    const auto left = left_.middleRows(first, n);
    const auto right = right_.middleCols(first, n);
    Matrix<T> within = product<T>(false, false, left, right);
    for (Index i = 0; i < n; ++i) within.row(i).tail(n - i - 1).setZero();
    auto part = out.middleRows(first, n);
    gemm<T>(false, false, T(1), left, before, T(0), part);
    gemm<T>(false, false, T(1), within, values.middleRows(first, n), T(1), part);
    const Column<T> sums = left * weight + within.rowwise().sum();
    for (Index i = 0; i < n; ++i) {
      if (is_safe(sums(i))) {
        part.row(i) /= sums(i);
      } else {
        part.row(i) = causal_row(first + i) * values;
      }
    }
    gemm<T>(false, false, T(1), right, values.middleRows(first, n), T(1), before);
    weight += right.rowwise().sum();
  }
}

}  // namespace rankfall
