#include "linalg/leading_values.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"
#include "linalg/gemm.h"
#include "linalg/spectra.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

Matrix<double> drawn(Index rows, Index cols, std::uint64_t seed) {
  Matrix<float> out(rows, cols);
  fill_normal(random_key(seed, "leading_values_test"), 0, std::span(out.data(), static_cast<std::size_t>(out.size())),
              1);
  return out.cast<double>();
}

// Softmax of independent logits.
Matrix<double> random_markov(Index n, double scale, std::uint64_t seed) {
  Matrix<double> p = (scale * drawn(n, n, seed)).array().exp();
  for (Index i = 0; i < n; ++i) p.row(i) /= p.row(i).sum();
  return p;
}

// Whatever the spectrum: values are below the true ones, the bounds above.
void expect_enclosed(const Matrix<double>& a, const LeadingOptions& options, double converged) {
  const std::vector<double> exact = singular_values<double>(a);
  const LeadingValues found = leading_values(a, options);
  const double slack = 1e-12 * exact[0];
  ASSERT_EQ(static_cast<Index>(found.values.size()), std::min({options.dimension, a.rows(), a.cols()}));
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    EXPECT_LE(found.values[i], exact[i] + slack) << i;
    EXPECT_LE(exact[i], std::hypot(found.values[i], found.rest) + slack) << i;
  }
  if (found.values.size() < exact.size()) {
    EXPECT_LE(exact[found.values.size()], found.rest + slack);
  }
  if (exact.size() > 1) {
    EXPECT_LE(exact[1], found.second + slack);
    EXPECT_LE(found.second, 1.45 * exact[1] + slack);  // of no use if it were far above
    EXPECT_NEAR(found.values[1], exact[1], converged * exact[0]);
  }
  EXPECT_NEAR(found.frobenius, a.norm(), 1e-13 * a.norm());
}

TEST(LeadingValues, LieBetweenTheirBounds) {
  const BlasThreads one_blas_thread(1);
  expect_enclosed(random_markov(300, 1, 1), {.dimension = 96}, 1e-6);
  expect_enclosed(random_markov(300, 0.02, 2), {.dimension = 96}, 1e-6);
  expect_enclosed(drawn(200, 120, 3), {.dimension = 64, .block = 5}, 1e-2);  // no gap at all
  expect_enclosed(drawn(70, 230, 4), {.dimension = 70}, 1e-12);              // all of them
  expect_enclosed(Matrix<double>::Identity(64, 64), {.dimension = 20}, 1e-12);
}

TEST(LeadingValues, OfLowRankAreExact) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> a = drawn(150, 9, 5) * drawn(9, 130, 6);
  const std::vector<double> exact = singular_values<double>(a);
  const LeadingValues found = leading_values(a, {.dimension = 48});
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(found.values[i], exact[i], 1e-12 * exact[0]);
  for (std::size_t i = 9; i < 48; ++i) EXPECT_LE(found.values[i], 1e-12 * exact[0]);
  EXPECT_LE(found.rest, 1e-12 * exact[0]);
}

TEST(LeadingValues, TakeEdges) {
  const BlasThreads one_blas_thread(1);
  EXPECT_TRUE(leading_values(Matrix<double>(0, 0)).values.empty());
  const LeadingValues zero = leading_values(Matrix<double>::Zero(30, 30), {.dimension = 20});
  EXPECT_EQ(zero.values[0], 0);
  EXPECT_EQ(zero.rest, 0);
  const LeadingValues one = leading_values(Matrix<double>::Constant(1, 1, -3));
  EXPECT_NEAR(one.values[0], 3, 1e-15);
  const LeadingValues ones = leading_values(Matrix<double>::Constant(50, 50, 0.02));
  EXPECT_NEAR(ones.values[0], 1, 1e-13);
  EXPECT_LE(ones.second, 1e-12);
  Matrix<double> bad = drawn(20, 20, 7);
  bad(3, 4) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(leading_values(bad), Error);
}

TEST(LeadingValues, DependOnTheSeedOnly) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> a = random_markov(200, 1, 8);
  EXPECT_EQ(leading_values(a, {.dimension = 32}).values, leading_values(a, {.dimension = 32}).values);
  EXPECT_NE(leading_values(a, {.dimension = 32, .seed = 1}).values, leading_values(a, {.dimension = 32}).values);
}

}  // namespace
}  // namespace rankfall
