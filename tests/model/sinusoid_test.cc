#include "model/sinusoid.h"

#include <cmath>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(Sinusoid, IsTheTableToFloatRounding) {
  const Index n = 64;
  const Index d = 32;
  const Matrix<float> table = xlnet_sinusoid(n, d);
  ASSERT_EQ(table.rows(), 2 * n - 1);
  for (Index t = 0; t < table.rows(); ++t) {
    const double m = static_cast<double>(n - 1 - t);
    for (Index i = 0; i < d / 2; ++i) {
      const double angle = m * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
      // The frequency and the angle are each rounded to float: 2 half-ulps of the angle, one ulp of the value.
      const double tolerance = 1.2e-7 * (2 * std::abs(angle) + 1);
      EXPECT_NEAR(table(t, i), std::sin(angle), tolerance);
      EXPECT_NEAR(table(t, d / 2 + i), std::cos(angle), tolerance);
    }
  }
  EXPECT_EQ(table(n - 1, 3), 0.0F);
  EXPECT_EQ(table(n - 1, d / 2 + 3), 1.0F);
}

}  // namespace
}  // namespace rankfall
