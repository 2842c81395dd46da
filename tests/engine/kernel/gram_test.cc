#include "engine/kernel/gram.h"

#include <cmath>

#include <gtest/gtest.h>

#include "engine/kernel/kernel_activation.h"
#include "engine/kernel/kernel_norm.h"
#include "engine/split/split.h"

namespace rankfall {
namespace {

// X X^T of a matrix without structure, its residual `size` times the mean.
Gram some_gram(Index n, double log_size, const Tokens& tokens) {
  SplitState x{{RowVector<double>(n + 3), 0}, {Matrix<double>(n, n + 3), log_size}};
  for (Index c = 0; c < n + 3; ++c) {
    x.mean.value(c) = std::cos(3.0 + static_cast<double>(c));
    for (Index r = 0; r < n; ++r) x.residual.value(r, c) = std::sin(1 + static_cast<double>(r * r + 7 * c + r * c));
  }
  return gram_of(x, tokens);
}

double worst(const Matrix<double>& a, const Matrix<double>& b) {
  return (a - b).cwiseAbs().maxCoeff() / std::max(1e-300, b.cwiseAbs().maxCoeff());
}

// Equal to rounding, part by part, however small the rest is.
void expect_same(const Gram& a, const Gram& b, double tolerance) {
  EXPECT_NEAR(a.log_mean, b.log_mean, tolerance);
  EXPECT_NEAR(a.cross.log + std::log(a.cross.value.norm()), b.cross.log + std::log(b.cross.value.norm()), tolerance);
  EXPECT_NEAR(a.rest.log, b.rest.log, 0.7);
  EXPECT_LE(worst(a.rest.value * std::exp(a.rest.log - b.rest.log), b.rest.value), tolerance);
}

TEST(Gram, PartsSumToZero) {
  const Tokens tokens(6, {});
  const Gram k = some_gram(6, 0, tokens);
  EXPECT_LE(k.rest.value.rowwise().sum().cwiseAbs().maxCoeff(), 1e-14 * k.rest.value.norm());
  EXPECT_LE(std::abs(k.cross.value.sum()), 1e-14 * k.cross.value.norm());
}

TEST(Gram, FactorsAndDistancesComeBack) {
  for (const double log_size : {0.0, -5.0, -40.0, -2000.0}) {
    const Tokens tokens(7, {});
    const Gram k = some_gram(7, log_size, tokens);
    expect_same(gram_of(factor_of(k, tokens, {}), tokens), k, 1e-12);
    expect_same(gram_of(distances_of(k, tokens), tokens), k, 1e-12);
  }
}

TEST(Gram, PaddingIsNoToken) {
  const std::vector<std::uint8_t> valid = {1, 0, 1, 1};
  const Tokens all(3, {}), some(4, valid);
  Matrix<double> k(3, 3);
  k << 2, 0.3, 0.1, 0.3, 1, -0.2, 0.1, -0.2, 3;
  Matrix<double> padded = Matrix<double>::Constant(4, 4, 1e9);
  const Index rows[] = {0, 2, 3};
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) padded(rows[i], rows[j]) = k(i, j);
  }
  const Gram a = gram_of(k, all), b = gram_of(padded, some);
  EXPECT_DOUBLE_EQ(a.log_mean, b.log_mean);
  const SplitState x = factor_of(b, some, valid);
  EXPECT_EQ(x.residual.value.row(1).norm(), 0);
  const Matrix<double> back = joined(x) * joined(x).transpose();
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) EXPECT_NEAR(back(rows[i], rows[j]), k(i, j), 1e-14);
  }
}

TEST(Gram, EqualTokensHaveNoRest) {
  const Tokens tokens(3, {});
  const Gram k = gram_of(Matrix<double>(Matrix<double>::Constant(3, 3, 0.7)), tokens);
  EXPECT_TRUE(k.rest.is_zero());
  EXPECT_TRUE(k.cross.is_zero());
  EXPECT_NEAR(std::exp(k.log_mean), 0.7, 1e-15);
}

TEST(KernelNorm, IsTheFormula) {
  const Tokens tokens(5, {});
  for (const double eps : {0.0, 1e-12, 0.3}) {
    const Gram k = some_gram(5, -1, tokens);
    const Matrix<double> x = plain(k);
    Matrix<double> expected = x;
    for (Index i = 0; i < 5; ++i) {
      for (Index j = 0; j < 5; ++j) expected(i, j) /= std::sqrt((x(i, i) + eps) * (x(j, j) + eps));
    }
    EXPECT_LE(worst(plain(normalised(eps, k, tokens)), expected), 1e-14) << eps;
  }
}

// Tokens that agree to e^-60 keep all digits of how they differ: the norm of twice as close tokens is twice as close.
TEST(KernelNorm, KeepsWhatIsBelowRounding) {
  const Tokens tokens(5, {});
  const Gram near = normalised(1e-12, some_gram(5, -60, tokens), tokens);
  const Gram nearer = normalised(1e-12, some_gram(5, -60 - std::log(2.0), tokens), tokens);
  EXPECT_LE(worst(near.rest.value * std::exp(near.rest.log - nearer.rest.log - 2 * std::log(2.0)), nearer.rest.value),
            1e-12);
}

TEST(KernelActivation, AProductIsOne) {
  const Tokens tokens(5, {});
  const Gram a = some_gram(5, 0, tokens), b = some_gram(5, -3, tokens);
  const Gram both = gram_of(product_of(distances_of(a, tokens), distances_of(b, tokens), tokens), tokens);
  EXPECT_LE(worst(plain(both), plain(a).cwiseProduct(plain(b))), 1e-13);
}

}  // namespace
}  // namespace rankfall
