#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/eigen.hpp>

#include "studies/audit/algebra_claims.h"

// What claims about small matrices are written with, in double and in a hundred digits.

namespace rankfall {

using Many = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<100>, boost::multiprecision::et_off>;

template <class T>
struct SidesOf {
  T left, right;
  bool applies = true;
};

template <class T>
Matrix<T> take(const Matrices& m, std::string_view name) {
  return m.find(name)->second.template cast<T>();
}

// How many equal channels each row or column stands for (Witness::channels); empty: one.
template <class T>
using GroupSizes = RowVector<T>;
template <class T>
GroupSizes<T> sizes_of(std::span<const Index> channels) {
  GroupSizes<T> sizes(std::ssize(channels));
  for (Index c = 0; c < sizes.size(); ++c) sizes(c) = T(static_cast<double>(channels[static_cast<std::size_t>(c)]));
  return sizes;
}
template <class T>
T n_channels(const Matrix<T>& x, const GroupSizes<T>& sizes) {
  return sizes.size() == 0 ? T(static_cast<double>(x.cols())) : T(sizes.sum());
}
// Each column times its size: m B with the equal channels summed over.
template <class T>
Matrix<T> summed(const Matrix<T>& m, const GroupSizes<T>& sizes) {
  return sizes.size() == 0 ? m : Matrix<T>(m * sizes.asDiagonal());
}

template <class T>
T norm_one(const Matrix<T>& m, const GroupSizes<T>& rows = {}) {
  T largest = T(0);
  for (Index j = 0; j < m.cols(); ++j) {
    T sum = T(0);
    for (Index i = 0; i < m.rows(); ++i) {
      const T entry = m(i, j) < T(0) ? T(-m(i, j)) : m(i, j);
      sum += rows.size() == 0 ? entry : T(rows(i) * entry);
    }
    if (sum > largest) largest = sum;
  }
  return largest;
}
template <class T>
T norm_inf(const Matrix<T>& m, const GroupSizes<T>& cols = {}) {
  return norm_one<T>(Matrix<T>(m.transpose()), cols);
}
template <class T>
T composite(const Matrix<T>& m, const GroupSizes<T>& rows = {}, const GroupSizes<T>& cols = {}) {
  using std::sqrt;
  return sqrt(T(norm_one<T>(m, rows) * norm_inf<T>(m, cols)));
}

// Rows of z, each less its largest entry first.
template <class T>
Matrix<T> softmax(Matrix<T> z) {
  using std::exp;
  for (Index i = 0; i < z.rows(); ++i) {
    const T largest = z.row(i).maxCoeff();
    T sum = T(0);
    for (Index j = 0; j < z.cols(); ++j) {
      z(i, j) = exp(T(z(i, j) - largest));
      sum += z(i, j);
    }
    for (Index j = 0; j < z.cols(); ++j) z(i, j) /= sum;
  }
  return z;
}

// max_j - min_j of each row.
template <class T>
std::vector<T> ranges(const Matrix<T>& e) {
  std::vector<T> out;
  for (Index i = 0; i < e.rows(); ++i) {
    out.push_back(e.row(i).maxCoeff() - e.row(i).minCoeff());
  }
  return out;
}

// The range in which e^x <= 1 + 2x: its end is 1.2564312..., irrational, so a number just below it stands for it in
// every precision.
template <class T>
bool within(const std::vector<T>& r) {
  return std::ranges::all_of(r, [](const T& value) { return value <= T(1.25643); });
}

inline double expm1_of(double x) { return std::expm1(x); }
inline Many expm1_of(const Many& x) { return exp(x) - 1; }

// One head on X: the residual of its output about its own reference, and the ranges of its logits.
template <class T>
struct HeadResidual {
  Matrix<T> m;
  std::vector<T> range;
};
template <class T>
Matrix<T> centred(const Matrix<T>& x) {
  Matrix<T> r = x;
  for (Index j = 0; j < x.cols(); ++j) {
    T mean = T(0);
    for (Index i = 0; i < x.rows(); ++i) mean += x(i, j) / T(static_cast<double>(x.rows()));
    for (Index i = 0; i < x.rows(); ++i) r(i, j) -= mean;
  }
  return r;
}
template <class T>
HeadResidual<T> head(const Matrix<T>& x, const Matrix<T>& qk, const Matrix<T>& w, const GroupSizes<T>& sizes) {
  using std::sqrt;
  const Matrix<T> each = centred<T>(x);
  const Matrix<T> r = summed<T>(each, sizes);
  const T root = sqrt(n_channels<T>(x, sizes));
  const Matrix<T> e = r * qk * r.transpose() / root;
  const Matrix<T> mean = summed<T>(x.row(0) - each.row(0), sizes);
  const Matrix<T> shared = mean * qk * r.transpose() / root;
  const Matrix<T> q = softmax<T>(shared);
  // D = P - 1 q^T without the difference, or a search in double would find its rounding.
  Matrix<T> d = e;
  for (Index i = 0; i < d.rows(); ++i) {
    T m = T(0);
    for (Index j = 0; j < d.cols(); ++j) {
      d(i, j) = expm1_of(e(i, j));
      m += q(0, j) * d(i, j);
    }
    for (Index j = 0; j < d.cols(); ++j) d(i, j) = q(0, j) * (d(i, j) - m) / (T(1) + m);
  }
  return {d * r * w, ranges<T>(e)};
}

template <SidesOf<double> (*f)(const Matrices&)>
Sides plainly(const Matrices& m) {
  const SidesOf<double> sides = f(m);
  return {sides.left, sides.right, sides.applies, sides.left > sides.right};
}
inline Sides rounded(const SidesOf<Many>& sides) {
  // Equal sides differ by the rounding of a hundred digits.
  const bool greater = sides.left > sides.right * (1 + Many("1e-90"));
  return {sides.left.convert_to<double>(), sides.right.convert_to<double>(), sides.applies, greater};
}
template <SidesOf<Many> (*f)(const Matrices&)>
Sides exactly(const Matrices& m) {
  return rounded(f(m));
}

using Groups = std::span<const Index>;
template <SidesOf<double> (*f)(const Matrices&, Groups)>
Sides plainly(const Matrices& m) {
  const SidesOf<double> sides = f(m, {});
  return {sides.left, sides.right, sides.applies, sides.left > sides.right};
}
template <SidesOf<Many> (*f)(const Matrices&, Groups)>
Sides exactly_in_groups(const Matrices& m, Groups channels) {
  return rounded(f(m, channels));
}
template <SidesOf<Many> (*f)(const Matrices&, Groups)>
Sides exactly(const Matrices& m) {
  return rounded(f(m, {}));
}

}  // namespace rankfall
