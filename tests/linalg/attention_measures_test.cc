#include "linalg/attention_measures.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include <rankfall/error.h>
#include <rankfall/process.h>

namespace rankfall {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Matrix<double> random_attention(Index n, std::uint64_t seed, double sharpness = 1) {
  Matrix<float> logits(n, n);
  fill_normal(random_key(seed, "attention_test"), 0, {logits.data(), static_cast<std::size_t>(logits.size())},
              sharpness);
  Matrix<double> p = logits.cast<double>().array().exp();
  for (Index i = 0; i < n; ++i) p.row(i) /= p.row(i).sum();
  return p;
}

template <class T>
class AttentionOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionOf, Scalars);

TYPED_TEST(AttentionOf, AreTheirDefinitions) {
  using T = TypeParam;
  for (const Index n : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 65}) {
    const Matrix<T> p = random_attention(n, static_cast<std::uint64_t>(n), 2).cast<T>();
    double entropy = 0, worst = 0;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        const double pij = p(i, j);
        if (n > 1) entropy -= pij * std::log(pij) / static_cast<double>(n);
      }
      for (Index k = 0; k < n; ++k) {
        double distance = 0;
        for (Index j = 0; j < n; ++j) distance += std::abs(double{p(i, j)} - double{p(k, j)}) / 2;
        worst = std::max(worst, distance);
      }
    }
    const AttentionMeasures m = attention_measures<T>(p, {});
    EXPECT_NEAR(m.entropy, entropy, 1e-13) << n;
    EXPECT_NEAR(m.dobrushin, worst, 1e-14) << n;
    EXPECT_EQ(m.dobrushin, dobrushin<T>(p)) << n;
    EXPECT_EQ(m.rank1_distance, m.sigma2 / m.sigma1) << n;
    EXPECT_GE(m.sigma1, 1 - 1e-6) << n;  // the vector of ones is mapped to itself
    EXPECT_LE(m.sigma1, std::sqrt(static_cast<double>(n)) * (1 + 1e-6)) << n;
    EXPECT_LE(m.entropy, std::log(static_cast<double>(n)) + 1e-6) << n;
  }
}

TEST(AttentionMeasures, OfUniformRows) {
  const Index n = 12;
  const AttentionMeasures m = attention_measures<double>(Matrix<double>::Constant(n, n, 1.0 / n), {});
  EXPECT_NEAR(m.entropy, std::log(12.0), 1e-14);
  EXPECT_NEAR(m.sigma1, 1, 1e-14);
  EXPECT_NEAR(m.sigma2, 0, 1e-14);
  EXPECT_NEAR(m.rank1_distance, 0, 1e-14);
  EXPECT_EQ(m.dobrushin, 0);
}

TEST(AttentionMeasures, OfTheIdentityWithExactZeros) {
  const AttentionMeasures m = attention_measures<float>(Matrix<float>::Identity(9, 9), {});
  EXPECT_EQ(m.entropy, 0);
  EXPECT_FALSE(std::signbit(m.entropy));
  EXPECT_NEAR(m.sigma1, 1, 1e-14);
  EXPECT_NEAR(m.sigma2, 1, 1e-14);
  EXPECT_NEAR(m.rank1_distance, 1, 1e-14);
  EXPECT_EQ(m.dobrushin, 1);
}

TEST(AttentionMeasures, OfASinkAreRankOne) {  // every token looks at token 2
  Matrix<double> p = Matrix<double>::Zero(7, 7);
  p.col(2).setOnes();
  const AttentionMeasures m = attention_measures<double>(p, {});
  EXPECT_EQ(m.entropy, 0);
  EXPECT_NEAR(m.sigma1, std::sqrt(7.0), 1e-14);
  EXPECT_NEAR(m.rank1_distance, 0, 1e-14);
  EXPECT_EQ(m.dobrushin, 0);
}

TEST(AttentionMeasures, OfOneTokenAndNone) {
  const AttentionMeasures one = attention_measures<double>(Matrix<double>::Ones(1, 1), {});
  EXPECT_EQ(one.entropy, 0);
  EXPECT_EQ(one.sigma1, 1);
  EXPECT_EQ(one.sigma2, 0);
  EXPECT_EQ(one.rank1_distance, 0);
  EXPECT_EQ(one.dobrushin, 0);
  EXPECT_EQ(attention_measures<double>(Matrix<double>(0, 0), {}).sigma1, 0);
  const std::vector<std::uint8_t> none = {0, 0};
  EXPECT_EQ(attention_measures<double>(Matrix<double>::Identity(2, 2), none).sigma1, 0);
}

TEST(AttentionMeasures, LeavePaddingOut) {
  const Matrix<double> p = random_attention(5, 1);
  const std::vector<std::uint8_t> valid = {1, 0, 1, 1, 0, 1, 1};
  const std::vector<Index> tokens = {0, 2, 3, 5, 6};
  Matrix<double> padded = Matrix<double>::Constant(7, 7, kNan);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) padded(tokens[i], tokens[j]) = p(static_cast<Index>(i), static_cast<Index>(j));
  }
  const AttentionMeasures a = attention_measures<double>(p, {});
  const AttentionMeasures b = attention_measures<double>(padded, valid);
  EXPECT_EQ(a.entropy, b.entropy);
  EXPECT_EQ(a.sigma1, b.sigma1);
  EXPECT_EQ(a.sigma2, b.sigma2);
  EXPECT_EQ(a.dobrushin, b.dobrushin);
}

// Dobrushin's law: the coefficient is submultiplicative, and contracts the spread of every column.
TEST(Dobrushin, IsSubmultiplicativeAndContracts) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Matrix<double> p = random_attention(20, seed, 3), q = random_attention(20, seed + 10, 3);
    EXPECT_LE(dobrushin<double>(p * q), dobrushin<double>(p) * dobrushin<double>(q) * (1 + 1e-13));
    const auto spread = [](const Matrix<double>& x) { return x.maxCoeff() - x.minCoeff(); };
    const Matrix<double> x = random_attention(20, seed + 20).col(3);
    EXPECT_LE(spread(p * x), dobrushin<double>(p) * spread(x) * (1 + 1e-13));
  }
}

TEST(Dobrushin, DoesNotDependOnThreadsOrPlace) {
  const Matrix<double> p = random_attention(61, 4);
  Matrix<double> wider(61, 64);
  wider.rightCols(61) = p;
  const int before = threads();
  set_threads(1);
  const double expected = dobrushin<double>(p);
  for (const int n : {2, 3, 8}) {
    set_threads(n);
    EXPECT_EQ(dobrushin<double>(wider.rightCols(61)), expected);
  }
  set_threads(before);
}

TEST(Dobrushin, TakesRowsOfAnyLength) {
  Matrix<double> p(3, 2);
  p << 1, 0, 0.5, 0.5, 0.25, 0.75;
  EXPECT_EQ(dobrushin<double>(p), 0.75);
  EXPECT_EQ(dobrushin<double>(p.topRows(1)), 0);
  EXPECT_EQ(dobrushin<double>(p.topRows(0)), 0);
  for (const Index i : {0, 1, 2}) {
    Matrix<double> bad = p;
    bad(i, 1) = kNan;
    EXPECT_TRUE(std::isnan(dobrushin<double>(bad)));
  }
}

TEST(RowEntropy, OfEdgeCases) {
  RowVector<double> p(5);
  p << 0.5, 0, 0.25, 0.25, 0;
  EXPECT_NEAR(row_entropy(p), 1.5 * std::log(2.0), 1e-15);
  p << 5e-324, 1, 0, 0, 0;
  EXPECT_NEAR(row_entropy(p), 0, 1e-300);
  p << 1 + 1e-7, 0, 0, 0, 0;  // a row that rounding made too large
  EXPECT_EQ(row_entropy(p), 0);
  p << 0.5, kNan, 0.5, 0, 0;
  EXPECT_TRUE(std::isnan(row_entropy(p)));
  EXPECT_EQ(row_entropy(RowVector<double>(0)), 0);
  EXPECT_NEAR(row_entropy(RowVector<double>::Constant(1000, 1e-3)), std::log(1000.0), 1e-6);
}

TEST(RowEntropy, DoesNotDependOnWhereTheRowLies) {
  const Matrix<double> p = random_attention(37, 4);
  Matrix<double> wider(37, 41);
  for (const Index offset : {0, 1, 2, 3}) {
    wider.middleCols(offset, 37) = p;
    EXPECT_EQ(row_entropy(wider.row(5).segment(offset, 37)), row_entropy(p.row(5)));
  }
}

TEST(AttentionMeasures, RefuseWhatIsNotFinite) {
  Matrix<double> p = random_attention(6, 1);
  p(3, 4) = kNan;
  EXPECT_THROW(attention_measures<double>(p, {}), Error);
}

}  // namespace
}  // namespace rankfall
