#include <gtest/gtest.h>

#include "engine/attention/kinds.h"
#include "linalg/gemm.h"

namespace rankfall::attention_kinds {
namespace {

// Landmarks that are nearly alike, as they are where tokens collapse: float is as good as double.
TEST(AttentionKinds, LandmarksMayBeAlike) {
  const BlasThreads one_blas_thread(1);
  const Attention a = attention_of({"", NystromWeights{.landmarks = 16}, false});
  for (const double spread : {1.0, 1e-1, 1e-2}) {
    const Matrix<float> q = (Matrix<double>::Constant(kN, kD, 0.3) + spread * drawn("q", kN, kD)).cast<float>();
    const Matrix<float> k = (Matrix<double>::Constant(kN, kD, 0.3) + spread * drawn("k", kN, kD)).cast<float>();
    Matrix<float> p(kN, kN);
    Matrix<double> expected(kN, kN);
    LowRankHead<float>(a, drawn_for<float>(a, 0, 0), q, k, {}).rows(0, p);
    LowRankHead<double>(a, drawn_for<double>(a, 0, 0), q.cast<double>(), k.cast<double>(), {}).rows(0, expected);
    EXPECT_LE((p.cast<double>() - expected).norm(), 1e-4 * expected.norm()) << spread;
  }
}

TEST(AttentionKinds, EnoughLandmarksAreExact) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> q = drawn("q", kN, kD);
  const Matrix<double> k = drawn("k", kN, kD);
  const auto valid = padding(kN);
  for (const AttentionWeights& weights : {AttentionWeights(NystromWeights{.landmarks = kN}),
                                          AttentionWeights(LinformerWeights{.k = kN, .pooled = true})}) {
    Attention a = attention_of({"", weights, false});
    Matrix<double> p(kN, kN);
    LowRankHead<double>(a, drawn_for<double>(a, 0, 0), q, k, valid).rows(0, p);
    a.weights = SoftmaxWeights{};
    // Landmarks: P P^+ P of a matrix whose small singular values count as zero.
    EXPECT_LE((p - Plain(a, q, k, valid).p()).cwiseAbs().maxCoeff(), 1e-8);
  }
}

}  // namespace
}  // namespace rankfall::attention_kinds
