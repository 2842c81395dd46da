#include "linalg/least_value.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "linalg/spectra.h"

namespace rankfall {
namespace {

Matrix<double> random_square(Index n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Matrix<double> m(n, n);
  for (Index i = 0; i < m.size(); ++i) m.data()[i] = normal(random);
  return m;
}

TEST(LeastSingularValue, IsBoundedFromBelowWithinAMillionth) {
  for (const Index n : {1, 2, 7, 8, 33, 60}) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      const Matrix<double> m = random_square(n, seed) + 3 * Matrix<double>::Identity(n, n);
      const double exact = singular_values<double>(m).back();
      const double bound = least_singular_value_bound(m);
      EXPECT_LE(bound, exact) << n;
      if (exact > 1e-3) {
        EXPECT_GT(bound, exact * (1 - 1e-5)) << n;
      }
      // Its size does not matter.
      EXPECT_NEAR(least_singular_value_bound(Matrix<double>(1e-40 * m)), 1e-40 * bound, 1e-45 * bound);
    }
  }
  EXPECT_NEAR(least_singular_value_bound(Matrix<double>(-2 * Matrix<double>::Identity(5, 5))), 2, 1e-5);
}

TEST(LeastSingularValue, OfASingularMatrixIsZero) {
  Matrix<double> m = random_square(9, 1);
  m.row(3) = m.row(4);
  EXPECT_EQ(least_singular_value_bound(m), 0);
  EXPECT_EQ(least_singular_value_bound(Matrix<double>::Zero(4, 4)), 0);
  EXPECT_EQ(least_singular_value_bound(Matrix<double>::Constant(3, 3, INFINITY)), 0);
}

TEST(LeastSingularValue, IsEstimatedFromAbove) {
  const Matrix<double> m = random_square(24, 2) + 6 * Matrix<double>::Identity(24, 24);
  const double exact = singular_values<double>(m).back();
  const Matrix<double> start = random_square(24, 3).leftCols(1);
  const auto map = [&](const Matrix<double>& x) -> Matrix<double> { return m * x; };
  const auto transposed = [&](const Matrix<double>& x) -> Matrix<double> { return m.transpose() * x; };
  double before = (m * start).norm() / start.norm();
  EXPECT_NEAR(least_singular_value_estimate(map, transposed, start, 1), before, 1e-12);
  for (const int steps : {3, 6, 12, 24}) {
    const double estimate = least_singular_value_estimate(map, transposed, start, steps);
    EXPECT_GE(estimate, exact * (1 - 1e-9)) << steps;
    EXPECT_LE(estimate, before * (1 + 1e-12)) << steps;
    before = estimate;
  }
  EXPECT_NEAR(before, exact, 0.05 * exact);
  EXPECT_EQ(least_singular_value_estimate(map, transposed, Matrix<double>::Zero(24, 1), 5), 0);
}

}  // namespace
}  // namespace rankfall
