#include "linalg/minimiser.h"

#include <cmath>

#include <gtest/gtest.h>

#include "linalg/norms.h"

namespace rankfall {
namespace {

Matrix<double> noise(Index rows, Index cols, unsigned seed) {
  std::srand(seed);
  return Matrix<double>::Random(rows, cols);
}

TEST(Minimiser, LiesBetweenItsBoundsAndBelowTheMean) {
  for (const Index n : {1, 2, 3, 8, 33}) {
    for (const Index d : {1, 2, 7, 40}) {
      Matrix<double> x = noise(n, d, static_cast<unsigned>(31 * n + d));
      if (d == 7) x.row(0) *= 50;
      const MinimisedNorms m = minimised_norms<double>(x, {});
      const Norms mean = centred_norms<double>(x, {}).residual;
      const double n_d = static_cast<double>(n);
      const auto check = [&](const Minimum& minimum, double about_mean, const char* name) {
        EXPECT_LE(minimum.lower, minimum.value * (1 + 1e-12)) << name;
        EXPECT_LE(minimum.value, about_mean * (1 + 1e-12)) << name << " " << n << "x" << d;
        // The mean is never more than 2 (1 - 1/n) above the minimum.
        EXPECT_TRUE(n == 1 || minimum.value * 2 * (1 - 1 / n_d) >= about_mean * (1 - 1e-9)) << name;
        EXPECT_LE(minimum.gap(), 0.0101) << name << " " << n << "x" << d;
      };
      check(m.one, mean.one, "one");
      check(m.inf, mean.inf, "inf");
      check(m.composite, mean.composite(), "composite");
      EXPECT_NEAR(m.frobenius.value, mean.frobenius, 1e-12);
    }
  }
}

// By trying a fine grid of points.
TEST(Minimiser, IsWhatAGridFinds) {
  const Matrix<double> x = (Matrix<double>(4, 2) << 0, 0, 1, 3, 4, 1, 0.5, 5).finished();
  const MinimisedNorms m = minimised_norms<double>(x, {});
  double one = INFINITY;
  double inf = INFINITY;
  double composite = INFINITY;
  for (double a = -1; a <= 5; a += 0.01) {
    for (double b = -1; b <= 6; b += 0.01) {
      Matrix<double> r = x;
      r.rowwise() -= RowVector<double>{{a, b}};
      const Norms norm = norms<double>(r);
      one = std::min(one, norm.one);
      inf = std::min(inf, norm.inf);
      composite = std::min(composite, norm.composite());
    }
  }
  EXPECT_NEAR(m.one.value, one, 0.02);
  EXPECT_LE(m.inf.lower, inf);
  EXPECT_LE(m.inf.value, inf * 1.011);
  EXPECT_LE(m.composite.lower, composite);
  EXPECT_LE(m.composite.value, composite * 1.011);
}

TEST(Minimiser, OfTwoRowsIsHalfTheirDistance) {
  const Matrix<double> x = (Matrix<double>(2, 3) << 1, 2, 3, 2, 0, 7).finished();
  EXPECT_NEAR(minimised_norms<double>(x, {}).inf.value, 3.5, 0.036);
  EXPECT_DOUBLE_EQ(minimised_norms<double>(x, {}).one.value, 4);
}

TEST(Minimiser, ScalesAndIgnoresPaddingAndShifts) {
  const Matrix<double> x = noise(9, 12, 4);
  const MinimisedNorms m = minimised_norms<double>(x, {});
  for (const double size : {1e-150, 1e150}) {
    EXPECT_NEAR(minimised_norms<double>(x * size, {}).composite.value / size / m.composite.value, 1, 0.011);
  }
  Matrix<double> padded(10, 12);
  padded << x, RowVector<double>::Constant(12, 1e6);
  std::vector<std::uint8_t> valid(10, 1);
  valid[9] = 0;
  EXPECT_EQ(minimised_norms<double>(padded, valid).composite.value, m.composite.value);
  EXPECT_EQ(minimised_norms<double>(x, std::vector<std::uint8_t>(9, 0)).inf.value, 0);
  const Matrix<double> equal = RowVector<double>::Constant(5, 3.25).replicate(4, 1);
  EXPECT_EQ(minimised_norms<double>(equal, {}).composite.value, 0);
}

TEST(Minimiser, AStateOfBertsSize) {
  Matrix<double> x = noise(128, 768, 3);
  x.topRows(2).array() += 5;  // two tokens far off
  const MinimisedNorms m = minimised_norms<double>(x, {});
  EXPECT_LT(m.inf.gap(), 0.05);
  EXPECT_LT(m.composite.gap(), 0.05);
  EXPECT_LT(m.inf.value, 0.8 * centred_norms<double>(x, {}).residual.inf);
}

}  // namespace
}  // namespace rankfall
