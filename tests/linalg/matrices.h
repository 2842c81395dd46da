#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/random.h"
#include <rankfall/matrix.h>

// Matrices of tests, and plain references for what is computed from them.

namespace rankfall {

inline constexpr double kEps = std::numeric_limits<double>::epsilon();

// Independent normal entries with the deviation 1.
template <class T>
Matrix<T> random_matrix(Index rows, Index columns, std::uint64_t seed) {
  Matrix<float> m(rows, columns);
  fill_normal(random_key(seed, "matrices"), 0, {m.data(), static_cast<std::size_t>(m.size())}, 1.0);
  return m.cast<T>();
}

// Singular values, descending, by one-sided Jacobi: pairs of rows are rotated until all are orthogonal; then the values
// are their norms. Plain loops, because Eigen's decompositions take longer to compile than the rest of a test.
inline std::vector<double> jacobi_singular_values(Matrix<double> m) {
  if (m.rows() > m.cols()) m = Matrix<double>(m.transpose());
  for (bool rotated = true; rotated;) {
    rotated = false;
    for (Index p = 0; p < m.rows(); ++p) {
      for (Index q = p + 1; q < m.rows(); ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (Index i = 0; i < m.cols(); ++i) {
          pp += m(p, i) * m(p, i);
          qq += m(q, i) * m(q, i);
          pq += m(p, i) * m(q, i);
        }
        const double rounding = static_cast<double>(m.cols()) * kEps;
        if (std::abs(pq) <= rounding * std::sqrt(pp) * std::sqrt(qq)) continue;
        rotated = true;
        const double zeta = (qq - pp) / (2 * pq);
        const double tangent = std::copysign(1, zeta) / (std::abs(zeta) + std::hypot(1, zeta));
        const double cosine = 1 / std::hypot(1, tangent);
        for (Index i = 0; i < m.cols(); ++i) {
          const double a = m(p, i), b = m(q, i);
          m(p, i) = cosine * (a - tangent * b);
          m(q, i) = cosine * (b + tangent * a);
        }
      }
    }
  }
  std::vector<double> values;
  for (Index p = 0; p < m.rows(); ++p) {
    double square = 0;
    for (Index i = 0; i < m.cols(); ++i) square += m(p, i) * m(p, i);
    values.push_back(std::sqrt(square));
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

// Makes the columns orthonormal: Gram-Schmidt, twice, which is enough for any matrix of full numerical rank.
inline Matrix<double> orthonormal_columns(Matrix<double> m) {
  for (Index c = 0; c < m.cols(); ++c) {
    for (int pass = 0; pass < 2; ++pass) {
      for (Index before = 0; before < c; ++before) m.col(c) -= m.col(before).dot(m.col(c)) * m.col(before);
      m.col(c) /= m.col(c).norm();
    }
  }
  return m;
}

}  // namespace rankfall
