#include <gtest/gtest.h>

#include "engine/attention/kinds.h"
#include "linalg/gemm.h"

namespace rankfall::attention_kinds {
namespace {

// Causal random features pass over runs of 128 rows.
TEST(AttentionKinds, RunsOfRowsJoin) {
  const BlasThreads one_blas_thread(1);
  const Index n = 2 * kQueryRows + 9;
  const Attention a = attention_of(kCases[5]);
  const Matrix<double> q = drawn("q", n, kD);
  const Matrix<double> k = drawn("k", n, kD);
  const Matrix<double> v = drawn("v", n, 3);
  const auto valid = padding(n);
  const LowRankHead<double> head(a, drawn_for<double>(a, 2, 1), q, k, valid);
  Matrix<double> out(n, 3);
  head.attend(v, out);
  EXPECT_LE((out - Plain(a, q, k, valid).p() * v).cwiseAbs().maxCoeff(), 1e-12);
}

// Random features of block and head 0 from their definition; e^x of 80-bit numbers reaches 10^4932.
Matrix<double> widest(const Attention& a, const Matrix<double>& q, const Matrix<double>& k,
                      const std::vector<std::uint8_t>& valid) {
  const Matrix<double> w = std::sqrt(a.scale) * drawn_matrix(a, 0, 0, k.rows());
  const Matrix<double> of_queries = q * w.transpose();
  Matrix<double> of_keys = k * w.transpose();
  for (Index j = 0; j < k.rows(); ++j) of_keys.row(j).array() -= a.scale / 2 * k.row(j).squaredNorm();
  Matrix<double> p = Matrix<double>::Zero(q.rows(), k.rows());
  for (Index i = 0; i < q.rows(); ++i) {
    std::vector<long double> row(static_cast<std::size_t>(k.rows()), 0);
    long double sum = 0;
    for (Index j = 0; j < k.rows(); ++j) {
      const auto at = static_cast<std::size_t>(j);
      if ((!valid.empty() && valid[at] == 0) || (a.mask.causal && j > i)) continue;
      for (Index f = 0; f < w.rows(); ++f)
        row[at] += std::exp(static_cast<long double>(of_queries(i, f)) + of_keys(j, f));
      sum += row[at];
    }
    for (Index j = 0; j < k.rows() && sum > 0; ++j)
      p(i, j) = static_cast<double>(row[static_cast<std::size_t>(j)] / sum);
  }
  return p;
}

// Exponents far beyond what e^x can hold, in float and in double: queries that look where no key is, and, with a causal
// mask, keys that grow so that the sums of early rows are nothing beside those of late ones.
template <class T>
void expect_large_exponents(double size, double tolerance) {
  const BlasThreads one_blas_thread(1);
  const Index n = kQueryRows + 40;
  Matrix<double> q = size * drawn("q", n, kD);
  Matrix<double> k = drawn("k", n, kD);
  for (Index i = 0; i < n; ++i) k.row(i) *= size * static_cast<double>(n - i) / static_cast<double>(n);
  q = q.cast<T>().template cast<double>();
  k = k.cast<T>().template cast<double>();
  const Matrix<double> v = drawn("v", n, 3);
  for (const bool causal : {false, true}) {
    for (const bool padded : {false, true}) {
      const Attention a = attention_of({"", FeatureWeights{.features = 24}, causal});
      const auto valid = padded ? padding(n) : std::vector<std::uint8_t>();
      const LowRankHead<T> head(a, drawn_for<T>(a, 0, 0), q.cast<T>(), k.cast<T>(), valid);
      Matrix<T> p(n, n);
      head.rows(0, p);
      EXPECT_LE((p.template cast<double>() - widest(a, q, k, valid)).cwiseAbs().maxCoeff(), tolerance);
      for (Index i = 0; i < n; ++i) {
        const bool sees = !padded || !causal || i >= 2;
        EXPECT_NEAR(static_cast<double>(p.row(i).sum()), sees ? 1 : 0, 1e-5) << i;
      }
      Matrix<T> out(n, 3);
      head.attend(v.cast<T>(), out);
      EXPECT_LE((out.template cast<double>() - p.template cast<double>() * v).cwiseAbs().maxCoeff(), 1e-5);
    }
  }
}
TEST(AttentionKinds, RandomFeaturesDoNotLeaveTheRange) {
  expect_large_exponents<float>(20, 5e-3);  // exponents of thousands, to 7 digits
  expect_large_exponents<double>(40, 1e-9);
}

// Monte Carlo: 64 times the features, an eighth of the error. Of longer vectors the variance, e^(|q + k|^2) of each
// product, asks for more features than a test has time for.
TEST(AttentionKinds, RandomFeaturesConverge) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> q = 0.5 * drawn("q", kN, kD);
  const Matrix<double> k = 0.5 * drawn("k", kN, kD);
  const auto error = [&](Index features) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Attention a = attention_of({"", FeatureWeights{.features = features, .seed = seed}, false});
      Matrix<double> p(kN, kN);
      LowRankHead<double>(a, drawn_for<double>(a, 0, 0), q, k, {}).rows(0, p);
      a.weights = SoftmaxWeights{};
      sum += (p - Plain(a, q, k, {}).p()).squaredNorm();
    }
    return std::sqrt(sum);
  };
  const double ratio = error(48) / error(64 * 48);
  EXPECT_GT(ratio, 5);
  EXPECT_LT(ratio, 12);
}

TEST(AttentionKinds, DirectionsAreOrthogonalInGroups) {
  const auto drawn_with = [](const AttentionWeights& weights, Index block, Index head, Index n) {
    Attention a;
    a.d_head = 4;
    a.weights = weights;
    return drawn_matrix(a, block, head, n);
  };
  const FeatureWeights features{.features = 10};
  const Matrix<double> w = drawn_with(features, 0, 0, 1);
  const Matrix<double> products = w * w.transpose();
  for (Index i = 0; i < 10; ++i) {
    for (Index j = 0; j < i; ++j) {
      if (i / 4 == j / 4) {
        EXPECT_NEAR(products(i, j), 0, 1e-12);
      } else {
        EXPECT_GT(std::abs(products(i, j)), 1e-6);
      }
    }
  }
  // No direction is preferred: 4,000 vectors with N(0, 1) in each channel, within four deviations.
  const Matrix<double> many = drawn_with(FeatureWeights{.features = 4000}, 0, 0, 1);
  EXPECT_LT(many.colwise().mean().cwiseAbs().maxCoeff(), 4 / std::sqrt(4000.0));
  EXPECT_LT((many.transpose() * many / 4000 - Matrix<double>::Identity(4, 4)).cwiseAbs().maxCoeff(), 0.1);
  for (Index first = 0; first < 4; ++first) {  // by place in the group
    RowVector<double> mean = RowVector<double>::Zero(4);
    for (Index i = first; i < 4000; i += 4) mean += many.row(i) / 1000;
    EXPECT_LT(mean.cwiseAbs().maxCoeff(), 4 / std::sqrt(1000.0)) << first;
  }
  EXPECT_NE(drawn_with(features, 0, 1, 1), w);
  EXPECT_NE(drawn_with(features, 1, 0, 1), w);
  EXPECT_NE(drawn_with(FeatureWeights{.features = 10, .seed = 1}, 0, 0, 1), w);
  EXPECT_EQ(drawn_with(FeatureWeights{.features = 10, .shift = {2, 1}}, 1, 0, 1), drawn_with(features, 3, 1, 1));
  // E of fewer tokens is its beginning; of many N(0, 1/k).
  const Matrix<double> e = drawn_with(LinformerWeights{.k = 16}, 0, 0, 4000);
  EXPECT_EQ(drawn_with(LinformerWeights{.k = 16}, 0, 0, 30), e.leftCols(30));
  EXPECT_NEAR(e.squaredNorm() / 4000, 1, 0.05);
  EXPECT_EQ(drawn_with(LinformerWeights{.pooled = true}, 0, 0, 30).size(), 0);
}

}  // namespace
}  // namespace rankfall::attention_kinds
