#include "linalg/gemm.h"

#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

#include "linalg/blas_info.h"
#include "linalg/linear.h"

namespace rankfall {
namespace {

template <class T>
Matrix<T> counting(Index rows, Index cols, double scale) {
  Matrix<T> m(rows, cols);
  for (Index i = 0; i < m.size(); ++i) m.data()[i] = static_cast<T>(scale * static_cast<double>((i * 37) % 101 - 50));
  return m;
}

template <class T>
void compare_all() {
  constexpr T kEps = std::numeric_limits<T>::epsilon();
  for (const Index m : {1, 2, 7, 8, 9, 33}) {
    for (const Index n : {1, 3, 8, 17}) {
      for (const Index k : {1, 8, 31}) {
        for (const bool ta : {false, true}) {
          for (const bool tb : {false, true}) {
            const Matrix<T> a = counting<T>(ta ? k : m, ta ? m : k, 0.01);
            const Matrix<T> b = counting<T>(tb ? n : k, tb ? k : n, 0.02);
            const Matrix<T> left = ta ? Matrix<T>(a.transpose()) : a;
            const Matrix<T> right = tb ? Matrix<T>(b.transpose()) : b;
            Matrix<T> big = Matrix<T>::Constant(m + 2, n + 3, T(5));
            gemm<T>(ta, tb, T(2), a, b, T(3), big.block(1, 2, m, n));
            const Matrix<T> expected = T(2) * (left * right) + Matrix<T>::Constant(m, n, T(15));
            // Each entry sums k products of size at most 0.5: 4 k eps bounds two orders of summation.
            EXPECT_LE((big.block(1, 2, m, n) - expected).cwiseAbs().maxCoeff(), (4 * T(k) + 30) * kEps);
            EXPECT_EQ(big(0, 0), T(5));
            EXPECT_EQ(big(m + 1, n + 2), T(5));
          }
        }
      }
    }
  }
}

TEST(Gemm, EqualsEigensProduct) {
  compare_all<float>();
  compare_all<double>();
}

TEST(Gemm, BetaZeroDoesNotReadTheOldValues) {
  Matrix<double> c = Matrix<double>::Constant(2, 2, std::numeric_limits<double>::quiet_NaN());
  gemm<double>(false, false, 1, Matrix<double>::Identity(2, 2), Matrix<double>::Identity(2, 2), 0, c);
  EXPECT_EQ(c, (Matrix<double>::Identity(2, 2)));
}

TEST(Gemm, EmptySumsAndEmptyResults) {
  Matrix<double> c = Matrix<double>::Constant(2, 2, 7);
  gemm<double>(false, false, 1, Matrix<double>(2, 0), Matrix<double>(0, 2), 0, c);
  EXPECT_EQ(c, (Matrix<double>::Zero(2, 2)));
  Matrix<double> none(0, 2);
  gemm<double>(false, false, 1, Matrix<double>(0, 3), Matrix<double>::Zero(3, 2), 0, none);
}

TEST(Gemm, CountsItsOperations) {
  const auto before = flops_done();
  Matrix<float> c(3, 5);
  gemm<float>(false, false, 1, counting<float>(3, 4, 1), counting<float>(4, 5, 1), 0, c);
  EXPECT_EQ(flops_done() - before, 2u * 3 * 4 * 5);
}

// Both ways a weight may be stored, around the width of a panel.
TEST(Linear, EqualsTheDefinition) {
  for (const Index out : {1, 191, 192, 193, 400}) {
    const Matrix<double> x = counting<double>(5, 9, 0.01);
    const Matrix<double> w = counting<double>(out, 9, 0.02);
    const Matrix<double> wt = w.transpose();
    const RowVector<double> b = counting<double>(1, out, 1);
    const Matrix<double> expected = (x * w.transpose()).rowwise() + b;
    const auto view = [](const Matrix<double>& m, bool transposed) {
      return WeightView<double>{{m.data(), m.rows(), m.cols(), Eigen::OuterStride<>(m.cols())}, transposed};
    };
    const VectorView<double> bias(b.data(), b.size());
    EXPECT_LE((linear<double>(x, view(w, false), bias) - expected).cwiseAbs().maxCoeff(), 1e-13);
    EXPECT_LE((linear<double>(x, view(wt, true), bias) - expected).cwiseAbs().maxCoeff(), 1e-13);
  }
}

constexpr VectorUnits kSse{.ssse3 = true, .sse42 = true};
constexpr VectorUnits kAvx{.ssse3 = true, .sse42 = true, .avx = true};
constexpr VectorUnits kAvx2{.ssse3 = true, .sse42 = true, .avx = true, .avx2_fma = true};
constexpr VectorUnits kAvx512{.ssse3 = true, .sse42 = true, .avx = true, .avx2_fma = true, .avx512 = true};

TEST(BlasInfo, BestKernelFollowsTheVectorUnits) {
  EXPECT_EQ(best_kernel({}), "Prescott");
  EXPECT_EQ(best_kernel({.ssse3 = true}), "Core2");
  EXPECT_EQ(best_kernel(kSse), "Nehalem");
  EXPECT_EQ(best_kernel(kAvx), "Sandybridge");
  EXPECT_EQ(best_kernel(kAvx2), "Haswell");
  EXPECT_EQ(best_kernel(kAvx512), "SkylakeX");
}

// OpenBLAS falls back to its oldest kernels on CPUs that came after it.
TEST(BlasInfo, AKernelIsReplacedOnlyByOneWithWiderVectors) {
  EXPECT_EQ(better_kernel("Prescott", kAvx512), "SkylakeX");
  EXPECT_EQ(better_kernel("Zen", kAvx512), "SkylakeX");
  EXPECT_EQ(better_kernel("Nehalem", kAvx2), "Haswell");
  EXPECT_EQ(better_kernel("Barcelona", kAvx), "Sandybridge");
  EXPECT_EQ(better_kernel("Prescott", {}), "");
  EXPECT_EQ(better_kernel("Zen", kAvx2), "");
  EXPECT_EQ(better_kernel("Haswell", kAvx), "");  // the system hides AVX2: OpenBLAS knows why it took it
  EXPECT_EQ(better_kernel("SapphireRapids", kAvx512), "");
  EXPECT_EQ(better_kernel("NeoverseN1", kAvx512), "");  // not in the table
  EXPECT_FALSE(blas_kernel().empty());
}

TEST(BlasInfo, SaysWhoChoseTheKernel) {
  const char* user = std::getenv("OPENBLAS_CORETYPE");
  const std::string before = user ? user : "";
  unsetenv("OPENBLAS_CORETYPE");
  EXPECT_EQ(blas_choice(), "OpenBLAS");
  setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  EXPECT_EQ(blas_choice(), "OPENBLAS_CORETYPE");
  setenv(kBlasReplaced, "Prescott", 1);
  EXPECT_EQ(blas_choice(), "rankfall instead of Prescott");
  setenv(kBlasReplaced, "\033[31m", 1);
  EXPECT_EQ(blas_choice(), "OPENBLAS_CORETYPE");
  unsetenv(kBlasReplaced);
  if (user) {
    setenv("OPENBLAS_CORETYPE", before.c_str(), 1);
  } else {
    unsetenv("OPENBLAS_CORETYPE");
  }
}

}  // namespace
}  // namespace rankfall
