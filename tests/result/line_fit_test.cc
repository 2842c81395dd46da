#include "result/line_fit.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(LineFit, FindsALine) {
  const std::vector<double> x = {1, 2, 4, 9};
  std::vector<double> y;
  for (const double value : x) y.push_back(3 - 0.5 * value);
  const LineFit fit = fit_line(x, y);
  EXPECT_NEAR(fit.slope, -0.5, 1e-15);
  EXPECT_NEAR(fit.intercept, 3, 1e-14);
  EXPECT_NEAR(fit.slope_error, 0, 1e-14);
  EXPECT_NEAR(fit.r2, 1, 1e-14);
  EXPECT_EQ(fit.n, 4);
}

// Anscombe's first set: slope 0.5001, standard error 0.1179, R^2 0.6665.
TEST(LineFit, KnowsItsError) {
  const std::vector<double> x = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
  const std::vector<double> y = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
  const LineFit fit = fit_line(x, y);
  EXPECT_NEAR(fit.slope, 0.5001, 5e-5);
  EXPECT_NEAR(fit.intercept, 3.0001, 5e-5);
  EXPECT_NEAR(fit.slope_error, 0.1179, 5e-5);
  EXPECT_NEAR(fit.r2, 0.6665, 5e-5);
}

TEST(LineFit, TakesTooFewPoints) {
  EXPECT_EQ(fit_line({}, {}).n, 0);
  EXPECT_EQ(fit_line(std::vector<double>{1}, std::vector<double>{2}).slope, 0);
  EXPECT_EQ(fit_line(std::vector<double>{1, 1}, std::vector<double>{2, 3}).slope, 0);
  const LineFit two = fit_line(std::vector<double>{1, 2}, std::vector<double>{2, 5});
  EXPECT_NEAR(two.slope, 3, 1e-15);
  EXPECT_EQ(two.slope_error, 0);
  EXPECT_EQ(fit_line(std::vector<double>{1, 2, 3}, std::vector<double>{4, 4, 4}).r2, 0);
}

}  // namespace
}  // namespace rankfall
