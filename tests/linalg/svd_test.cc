#include "linalg/svd.h"

#include <limits>

#include <gtest/gtest.h>

#include "linalg/matrices.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

TEST(ThinSvd, RebuildsTheMatrix) {
  for (const Index n : {1, 2, 7, 8, 9, 33}) {
    for (const Index d : {1, 3, 8, 31}) {
      const Matrix<double> m = random_matrix<double>(n, d, static_cast<std::uint64_t>(n + d));
      Matrix<double> copy = m;
      const ThinSvd svd = destructive_thin_svd(copy);
      const Index k = std::min(n, d);
      Matrix<double> scaled = svd.left;
      for (Index i = 0; i < k; ++i) scaled.col(i) *= svd.values[static_cast<std::size_t>(i)];
      // Backward stable: each of the products below adds at most a few roundings per term.
      const double tolerance = 8 * static_cast<double>(n + d) * kEps;
      EXPECT_LE((scaled * svd.right - m).norm(), tolerance * m.norm()) << n << " x " << d;
      EXPECT_LE((svd.left.transpose() * svd.left - Matrix<double>::Identity(k, k)).norm(), tolerance);
      EXPECT_LE((svd.right * svd.right.transpose() - Matrix<double>::Identity(k, k)).norm(), tolerance);
    }
  }
}

// The four equations of Penrose, which only the pseudo-inverse solves; of a rank of 3 as well, where zero singular
// values are roundings.
TEST(PseudoInverse, SolvesPenrosesEquations) {
  for (const Index n : {1, 3, 8, 17}) {
    for (const Index d : {1, 4, 8, 19}) {
      for (const bool full : {true, false}) {
        const Matrix<double> a = full ? random_matrix<double>(n, d, 1)
                                      : Matrix<double>(random_matrix<double>(n, 3, 1) * random_matrix<double>(3, d, 2));
        const Matrix<double> x = pseudo_inverse(a);
        ASSERT_EQ(x.rows(), d);
        ASSERT_EQ(x.cols(), n);
        // Its error is the condition's times a rounding; |a| |x| is the condition.
        const double tolerance = 16 * static_cast<double>(n + d) * kEps * a.norm() * x.norm();
        EXPECT_LE((a * x * a - a).norm(), tolerance * a.norm()) << n << " x " << d;
        EXPECT_LE((x * a * x - x).norm(), tolerance * x.norm()) << n << " x " << d;
        EXPECT_LE((a * x - (a * x).transpose()).norm(), tolerance) << n << " x " << d;
        EXPECT_LE((x * a - (x * a).transpose()).norm(), tolerance) << n << " x " << d;
      }
    }
  }
}

TEST(PseudoInverse, OfEdges) {
  EXPECT_EQ(pseudo_inverse(Matrix<double>::Zero(3, 2)), (Matrix<double>::Zero(2, 3)));
  EXPECT_EQ(pseudo_inverse(Matrix<double>(0, 4)).rows(), 4);
  Matrix<double> bad = random_matrix<double>(3, 2, 1);
  bad(1, 1) = std::numeric_limits<double>::quiet_NaN();
  const Matrix<double> nothing = pseudo_inverse(bad);
  EXPECT_EQ(nothing.rows(), 2);
  EXPECT_TRUE(nothing.array().isNaN().all());
  EXPECT_THROW(destructive_thin_svd(bad), Error);
  // 1e-11 of the largest value counts as zero, 1e-9 does not.
  Matrix<double> small = Matrix<double>::Zero(2, 2);
  small(0, 0) = 1;
  small(1, 1) = 1e-11;
  EXPECT_EQ(pseudo_inverse(small)(1, 1), 0);
  small(1, 1) = 1e-9;
  EXPECT_NEAR(pseudo_inverse(small)(1, 1), 1e9, 1e-5);
}

}  // namespace
}  // namespace rankfall
