#include "studies/audit/later_claims.h"

#include <array>

#include "studies/audit/algebra.h"

namespace rankfall {
namespace {

template <class T>
T size_of(const T& value) {
  return value < T(0) ? T(-value) : value;
}

// Below this, relative to the largest entry, a direction is rounding.
double least_pivot(double /*of*/) { return 1e-9; }
Many least_pivot(const Many& /*of*/) { return Many("1e-60"); }

// The dimension of the smallest affine space that holds all rows: the rank of their differences from the first, by
// elimination with full pivoting.
template <class T>
Index affine_rank(const Matrix<T>& x) {
  T largest = T(0);
  for (Index i = 0; i < x.size(); ++i) largest = std::max<T>(largest, size_of<T>(x.data()[i]));
  const T least = largest * least_pivot(largest);
  Matrix<T> rest = x.bottomRows(x.rows() - 1);
  for (Index i = 0; i < rest.rows(); ++i) {
    for (Index j = 0; j < rest.cols(); ++j) rest(i, j) -= x(0, j);
  }
  Index rank = 0;
  for (; rank < std::min(rest.rows(), rest.cols()); ++rank) {
    Index row = rank;
    Index col = rank;
    for (Index i = rank; i < rest.rows(); ++i) {
      for (Index j = rank; j < rest.cols(); ++j) {
        if (size_of<T>(rest(i, j)) > size_of<T>(rest(row, col))) {
          row = i;
          col = j;
        }
      }
    }
    if (!(size_of<T>(rest(row, col)) > least)) break;
    rest.row(rank).swap(rest.row(row));
    rest.col(rank).swap(rest.col(col));
    for (Index i = rank + 1; i < rest.rows(); ++i) {
      const T factor = rest(i, rank) / rest(rank, rank);
      for (Index j = rank; j < rest.cols(); ++j) rest(i, j) -= factor * rest(rank, j);
    }
  }
  return rank;
}

// Each row less its mean, over its standard deviation; false if a row has none but rounding.
template <class T>
bool normed_rows(Matrix<T>& x) {
  using std::sqrt;
  const T d = T(static_cast<double>(x.cols()));
  for (Index i = 0; i < x.rows(); ++i) {
    T largest = T(0);
    for (Index j = 0; j < x.cols(); ++j) largest = std::max<T>(largest, size_of<T>(x(i, j)));
    T mean = T(0);
    for (Index j = 0; j < x.cols(); ++j) mean += x(i, j) / d;
    T variance = T(0);
    for (Index j = 0; j < x.cols(); ++j) {
      x(i, j) -= mean;
      variance += x(i, j) * x(i, j) / d;
    }
    const T deviation = sqrt(variance);
    if (!(deviation > largest * least_pivot(largest))) return false;
    for (Index j = 0; j < x.cols(); ++j) x(i, j) /= deviation;
  }
  return true;
}

template <class T>
SidesOf<T> affine_rank_not_raised(const Matrices& m) {
  const Matrix<T> x = take<T>(m, "X");
  Matrix<T> normed = x;
  const bool applies = normed_rows<T>(normed);
  const auto count = [](Index rank) { return T(static_cast<double>(rank)); };
  return {count(applies ? affine_rank<T>(normed) : 0), count(affine_rank<T>(x)), applies};
}
template <class T>
SidesOf<T> affine_rank_not_lowered(const Matrices& m) {
  const SidesOf<T> sides = affine_rank_not_raised<T>(m);
  return {sides.right, sides.left, sides.applies};
}

template <class T>
T largest_entry(const Matrix<T>& m) {
  T largest = T(0);
  for (Index i = 0; i < m.size(); ++i) largest = std::max<T>(largest, size_of<T>(m.data()[i]));
  return largest;
}

template <class T>
SidesOf<T> residuals_differ(const Matrices& m, bool sharp) {
  const Matrix<T> a = take<T>(m, "A");
  const Matrix<T> b = take<T>(m, "B");
  const T n = T(static_cast<double>(a.rows()));
  const T factor = sharp ? T(2) * (T(1) - T(1) / n) : T(1);
  return {largest_entry<T>(Matrix<T>(centred<T>(a) - centred<T>(b))), factor * largest_entry<T>(Matrix<T>(a - b)),
          !sharp || a.rows() > 1};
}
template <class T>
SidesOf<T> residual_difference(const Matrices& m) {
  return residuals_differ<T>(m, false);
}
template <class T>
SidesOf<T> residual_difference_sharp(const Matrices& m) {
  return residuals_differ<T>(m, true);
}

template <class T>
T frobenius_norm(const Matrix<T>& m) {
  using std::sqrt;
  T sum = T(0);
  for (Index i = 0; i < m.size(); ++i) sum += m.data()[i] * m.data()[i];
  return sqrt(sum);
}

// Rows of length 1; false if one is zero.
template <class T>
bool unit_rows(Matrix<T>& x) {
  for (Index i = 0; i < x.rows(); ++i) {
    const T length = frobenius_norm<T>(Matrix<T>(x.row(i)));
    if (!(length > T(0))) return false;
    for (Index j = 0; j < x.cols(); ++j) x(i, j) /= length;
  }
  return true;
}

// sqrt a is the largest that the condition |lambda| > S C_M sqrt a / (1 - sqrt a) allows, |lambda| / (|lambda| + S
// C_M).
template <class T>
SidesOf<T> lambda_skip(const Matrices& m) {
  Matrix<T> y = take<T>(m, "Y");
  const Matrix<T> p = softmax<T>(take<T>(m, "Z"));
  const Matrix<T> c = take<T>(m, "C");
  const T lambda = take<T>(m, "lambda")(0, 0);
  const bool rows = unit_rows<T>(y);
  Matrix<T> out = p * y * c + lambda * y;
  const bool out_rows = unit_rows<T>(out);
  const T size = size_of<T>(lambda);
  const T root = size / T(size + frobenius_norm<T>(c) * frobenius_norm<T>(p));
  return {root * frobenius_norm<T>(centred<T>(y)), frobenius_norm<T>(centred<T>(out)), rows && out_rows && size > T(0)};
}

std::vector<Shape> some_tokens(Index n, Index d) { return {{"X", n, d}}; }
std::vector<Shape> two_states(Index n, Index d) { return {{"A", n, d}, {"B", n, d}}; }
std::vector<Shape> a_skip(Index n, Index d) { return {{"Y", n, d}, {"Z", n, n}, {"C", d, d}, {"lambda", 1, 1}}; }

const std::array kLaterClaims = {
    AlgebraClaim{"affine_rank_not_raised", "LayerNorm does not raise the affine rank of the tokens", false,
                 plainly<affine_rank_not_raised<double>>, exactly<affine_rank_not_raised<Many>>, some_tokens},
    AlgebraClaim{"affine_rank_not_lowered", "LayerNorm does not lower the affine rank of the tokens", false,
                 plainly<affine_rank_not_lowered<double>>, exactly<affine_rank_not_lowered<Many>>, some_tokens},
    AlgebraClaim{"residual_difference", "max |res A - res B| <= max |A - B|, with res about the mean of the n tokens",
                 false, plainly<residual_difference<double>>, exactly<residual_difference<Many>>, two_states},
    AlgebraClaim{"residual_difference_sharp",
                 "max |res A - res B| <= 2 (1 - 1/n) max |A - B|, with res about the mean of the n tokens", true,
                 plainly<residual_difference_sharp<double>>, exactly<residual_difference_sharp<Many>>, two_states},
    AlgebraClaim{
        "lambda_skip",
        "as recorded: |lambda| > S C_M sqrt a / (1 - sqrt a) keeps sqrt a of the residual in Y' = D (M Y C_V + "
        "lambda Y), with D making rows of length 1, S = |C_V|_F, C_M = |M|_F",
        false, plainly<lambda_skip<double>>, exactly<lambda_skip<Many>>, a_skip},
};

Matrix<double> matrix_of(Index cols, std::initializer_list<double> values) {
  return Eigen::Map<const Matrix<double>>(values.begin(), std::ssize(values) / cols, cols);
}

}  // namespace

std::span<const AlgebraClaim> later_claims() { return kLaterClaims; }

Witness tokens_on_a_line() { return {"affine_rank_not_raised", {{"X", matrix_of(3, {1, -1, 0, 2, 0, -2, 3, 1, -4})}}}; }
Witness tokens_on_a_ray() { return {"affine_rank_not_lowered", {{"X", matrix_of(3, {1, -1, 0, 2, -2, 0})}}}; }

Witness distant_residuals() {
  return {"residual_difference", {{"A", matrix_of(1, {2, 0, -2})}, {"B", matrix_of(1, {1, 1, -3})}}};
}

Witness cancelled_skip() {
  return {"lambda_skip",
          {{"Y", matrix_of(2, {4, 3, 4, -3})},
           {"Z", matrix_of(2, {40, 0, 0, 40})},
           {"C", matrix_of(2, {0, 0, 0, -0.875})},
           {"lambda", matrix_of(1, {1})}}};
}

AffineRanks affine_ranks(const Matrix<double>& x) {
  Matrix<double> normed = x;
  normed_rows<double>(normed);
  return {affine_rank<double>(x), affine_rank<double>(normed)};
}

}  // namespace rankfall
