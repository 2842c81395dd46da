#include "linalg/rank_one.h"

#include <cmath>

#include <gtest/gtest.h>

#include "linalg/norms.h"
#include "linalg/spectra.h"

namespace rankfall {
namespace {

Matrix<double> matrix_noise(Index rows, Index cols, unsigned seed) {
  std::srand(seed);
  return Matrix<double>::Random(rows, cols);
}

// By all singular values, of M itself.
double ratio_of(const Matrix<double>& m) {
  const auto s = singular_values<double>(m);
  return s[1] / s[0];
}

RankOneDistance distance_of(const Matrix<double>& m) {
  const RowVector<double> mean = m.colwise().mean();
  return rank_one_distance(mean, m.rowwise() - mean);
}

TEST(RankOne, RatioIsThatOfTheSingularValues) {
  for (const Index rows : {1, 2, 5, 17}) {
    for (const Index cols : {2, 3, 9, 30}) {
      const Matrix<double> m = matrix_noise(rows, cols, static_cast<unsigned>(rows * cols));
      if (std::min(rows, cols) > 1) {
        EXPECT_NEAR(distance_of(m).ratio, ratio_of(m), 1e-13);
        EXPECT_GT(distance_of(m).remainder, 0);
      } else {
        EXPECT_LT(distance_of(m).ratio, 1e-15);
      }
    }
  }
}

TEST(RankOne, IsTheBestApproximationOfAKnownMatrix) {
  // diag(3, 2): the best is diag(3, 0), the remainder diag(0, 2), composite norms 3 and 2.
  Matrix<double> m(2, 2);
  m << 3, 0, 0, 2;
  EXPECT_NEAR(distance_of(m).ratio, 2.0 / 3, 1e-15);
  EXPECT_NEAR(distance_of(m).remainder, 2.0 / 3, 1e-15);
}

TEST(RankOne, HasNoFloor) {
  const RowVector<double> mean = matrix_noise(1, 12, 3).row(0);
  Matrix<double> r = matrix_noise(7, 12, 4);
  r.rowwise() -= r.colwise().mean().eval();
  // Both formulas hold where they meet, and the small one scales.
  const RankOneDistance above = rank_one_distance(mean, r * 1e-6);
  const RankOneDistance below = rank_one_distance(mean, r * 1e-8);
  EXPECT_NEAR(above.ratio / (100 * below.ratio), 1, 1e-5);
  EXPECT_NEAR(above.remainder / (100 * below.remainder), 1, 1e-5);
  const RankOneDistance tiny = rank_one_distance(mean, r * 1e-40);
  EXPECT_NEAR(tiny.ratio / below.ratio * 1e32, 1, 1e-12);
  EXPECT_EQ(rank_one_distance(mean, r * 0).ratio, 0);
  EXPECT_EQ(rank_one_distance(mean * 0, r * 0).remainder, 0);
}

TEST(RankOne, Float32HasTheFloorOfFloat32) {
  const Matrix<double> m = matrix_noise(9, 9, 5);
  EXPECT_NEAR(rank_one_remainder_f32(m), distance_of(m).remainder, 1e-5);
  const Matrix<double> one = matrix_noise(9, 1, 6) * matrix_noise(1, 9, 7);
  EXPECT_LT(rank_one_remainder_f32(one), 1e-5);
  EXPECT_GT(rank_one_remainder_f32(one), 1e-9);
}

}  // namespace
}  // namespace rankfall
