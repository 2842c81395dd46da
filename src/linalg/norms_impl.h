#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/dcheck.h"
#include "linalg/gemm.h"
#include "linalg/norms.h"
#include <rankfall/matrix.h>

namespace rankfall {

// What sums of T are formed in.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, float>, double, T>;

inline std::vector<Index> valid_rows(Index n, std::span<const std::uint8_t> valid) {
  RANKFALL_DCHECK(valid.empty() || std::ssize(valid) == n);
  std::vector<Index> rows;
  rows.reserve(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    if (valid.empty() || valid[static_cast<std::size_t>(i)] != 0) rows.push_back(i);
  }
  return rows;
}

// A row in chunks of kLanes columns, the last filled up with zeros: column c of the array is chunk c. So each sum below
// has kLanes partial sums, whatever the CPU's vectors are and however x is aligned.
inline constexpr Index kLanes = 8;

template <class A>
using Lanes = Eigen::Array<A, kLanes, 1>;
template <class A>
using ChunkedRow = Eigen::Array<A, kLanes, Eigen::Dynamic>;

template <class A>
ChunkedRow<A> zero_row(Index n_columns) {
  return ChunkedRow<A>::Zero(kLanes, (n_columns + kLanes - 1) / kLanes);
}

// Requires that row is a zero_row(x.cols()), or was filled from the same x.
template <class T, class A>
void load_row(const MatrixRef<T>& x, Index i, ChunkedRow<A>& row) {
  const T* from = x.data() + i * x.outerStride();
  A* to = row.data();
  Index j = 0;
  for (; j + kLanes <= x.cols(); j += kLanes) {
    for (Index l = 0; l < kLanes; ++l) to[j + l] = static_cast<A>(from[j + l]);  // this form g++ 12 vectorises at -O2
  }
  for (; j < x.cols(); ++j) to[j] = static_cast<A>(from[j]);
}

// Norms of a matrix that is shown row by row. A is the scalar of all sums.
template <class A>
class NormSums {
 public:
  explicit NormSums(Index n_columns) : columns_(zero_row<A>(n_columns)) {}

  void add(const ChunkedRow<A>& row) {
    Lanes<A> sums = Lanes<A>::Zero();
    Lanes<A> squares = Lanes<A>::Zero();
    for (Index c = 0; c < row.cols(); ++c) {
      const Lanes<A> absolute = row.col(c).abs();
      columns_.col(c) += absolute;
      sums += absolute;
      squares += absolute * absolute;
    }
    const A sum = sums.sum();
    if (sum > inf_) inf_ = sum;
    squares_ += squares.sum();
  }

  // True if squares have left the range of A, up or down; then the same rows must be shown again to add_scaled().
  bool needs_scaling() const {
    const A smallest = std::numeric_limits<A>::min() / std::numeric_limits<A>::epsilon();
    return inf_ > A(0) && inf_ <= std::numeric_limits<A>::max() &&
           (squares_ < smallest || squares_ > std::numeric_limits<A>::max());
  }
  void add_scaled(const ChunkedRow<A>& row) { scaled_squares_ += (row / inf_).square().sum(); }

  A one() const { return columns_.size() > 0 ? nan_or(columns_.maxCoeff()) : A(0); }
  A inf() const { return nan_or(inf_); }
  A frobenius() const {
    using std::sqrt;
    return needs_scaling() ? A(inf_ * sqrt(scaled_squares_)) : A(sqrt(squares_));
  }

  Norms in_double() const {
    return {static_cast<double>(one()), static_cast<double>(inf()), static_cast<double>(frobenius())};
  }

 private:
  // Maxima pass over NaN; the sum of squares does not.
  A nan_or(const A& maximum) const { return squares_ != squares_ ? squares_ : maximum; }

  ChunkedRow<A> columns_;
  A inf_{0}, squares_{0}, scaled_squares_{0};
};

// The valid rows of x, and their mean as origin + shift, where origin is the first of them.
template <class T>
class CentredRows {
 public:
  using A = Accumulator<T>;

  // Calls watch(row) with every valid row on the way. x must outlive this.
  template <class Watch>
  CentredRows(const MatrixRef<T>& x, std::span<const std::uint8_t> valid, const Watch& watch)
      : x_(x), rows_(valid_rows(x.rows(), valid)), origin_(zero_row<A>(x.cols())), shift_(origin_) {
    if (rows_.empty()) return;
    ChunkedRow<A> row = origin_;
    load_state(0, origin_);
    for (Index i = 0; i < n_rows(); ++i) {
      load_state(i, row);
      watch(row);
      shift_ += row - origin_;
    }
    shift_ /= A(static_cast<double>(n_rows()));
  }

  Index n_rows() const { return std::ssize(rows_); }

  // Valid row i, and its residual. row as for load_row.
  void load_state(Index i, ChunkedRow<A>& row) const { load_row<T, A>(x_, rows_[static_cast<std::size_t>(i)], row); }
  void load_residual(Index i, ChunkedRow<A>& row) const {
    load_state(i, row);
    row = (row - origin_) - shift_;
  }

 private:
  const MatrixRef<T>& x_;
  std::vector<Index> rows_;
  ChunkedRow<A> origin_, shift_;
};

template <class A>
struct CentredNormSums {
  NormSums<A> residual, state;
};

template <class T>
CentredNormSums<Accumulator<T>> centred_norm_sums(const MatrixRef<T>& x, std::span<const std::uint8_t> valid) {
  using A = Accumulator<T>;
  CentredNormSums<A> sums{NormSums<A>(x.cols()), NormSums<A>(x.cols())};
  const CentredRows<T> rows(x, valid, [&](const ChunkedRow<A>& row) { sums.state.add(row); });
  ChunkedRow<A> row = zero_row<A>(x.cols());
  for (Index i = 0; i < rows.n_rows(); ++i) {
    rows.load_residual(i, row);
    sums.residual.add(row);
  }
  if (sums.state.needs_scaling() || sums.residual.needs_scaling()) {
    for (Index i = 0; i < rows.n_rows(); ++i) {
      rows.load_state(i, row);
      sums.state.add_scaled(row);
      rows.load_residual(i, row);
      sums.residual.add_scaled(row);
    }
  }
  return sums;
}

template <class T>
CentredNorms centred_norms(const MatrixRef<T>& x, std::span<const std::uint8_t> valid) {
  const auto sums = centred_norm_sums<T>(x, valid);
  return {sums.residual.in_double(), sums.state.in_double()};
}

template <class T>
Norms norms(const MatrixRef<T>& x) {
  using A = Accumulator<T>;
  NormSums<A> sums(x.cols());
  ChunkedRow<A> row = zero_row<A>(x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    load_row<T, A>(x, i, row);
    sums.add(row);
  }
  if (sums.needs_scaling()) {
    for (Index i = 0; i < x.rows(); ++i) {
      load_row<T, A>(x, i, row);
      sums.add_scaled(row);
    }
  }
  return sums.in_double();
}

template <class T>
Matrix<double> centred_rows(const MatrixRef<T>& x, std::span<const std::uint8_t> valid) {
  using A = Accumulator<T>;
  const CentredRows<T> rows(x, valid, [](const ChunkedRow<A>&) {});
  Matrix<double> centred(rows.n_rows(), x.cols());
  ChunkedRow<A> row = zero_row<A>(x.cols());
  for (Index i = 0; i < rows.n_rows(); ++i) {
    rows.load_residual(i, row);
    for (Index j = 0; j < x.cols(); ++j) centred(i, j) = static_cast<double>(row.data()[j]);
  }
  return centred;
}

// The valid rows of x at length 1; zero rows stay.
template <class T>
Matrix<T> unit_rows(const MatrixRef<T>& x, std::span<const std::uint8_t> valid) {
  using A = Accumulator<T>;
  const std::vector<Index> rows = valid_rows(x.rows(), valid);
  Matrix<T> unit(std::ssize(rows), x.cols());
  RowVector<A> row;
  for (Index i = 0; i < unit.rows(); ++i) {
    row = x.row(rows[static_cast<std::size_t>(i)]).template cast<A>();
    const A size = row.cwiseAbs().sum();
    if (size != A(0)) {
      row /= size;  // first, so that squares stay in range
      row /= row.norm();
    }
    unit.row(i) = row.template cast<T>();
  }
  return unit;
}

template <class T>
Cosines cosines(const MatrixRef<T>& x, std::span<const std::uint8_t> valid) {
  using A = Accumulator<T>;
  constexpr Index kTile = 256;
  const Matrix<T> unit = unit_rows<T>(x, valid);
  const Index n = unit.rows();
  if (n < 2) return {};
  A sum(0), sum_abs(0);  // over pairs i < j
  Matrix<T> tile;
  for (Index i = 0; i < n; i += kTile) {
    for (Index j = i; j < n; j += kTile) {
      const auto left = unit.middleRows(i, std::min(kTile, n - i));
      const auto right = unit.middleRows(j, std::min(kTile, n - j));
      tile.resize(left.rows(), right.rows());
      gemm<T>(false, true, T(1), left, right, T(0), tile);
      for (Index r = 0; r < tile.rows(); ++r) {
        for (Index c = i == j ? r + 1 : 0; c < tile.cols(); ++c) {
          // Rounding may leave [-1, 1]; NaN may not be hidden.
          const A value(tile(r, c));
          const A cosine = value > A(1) ? A(1) : value < A(-1) ? A(-1) : value;
          sum += cosine;
          sum_abs += cosine < A(0) ? A(-cosine) : cosine;
        }
      }
    }
  }
  const Index n_pairs = n * (n - 1) / 2;
  return {static_cast<double>(sum) / static_cast<double>(n_pairs),
          static_cast<double>(sum_abs) / static_cast<double>(n_pairs), n_pairs};
}

}  // namespace rankfall
