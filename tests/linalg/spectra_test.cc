#include "linalg/spectra.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/matrices.h"
#include "linalg/norms.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

Matrix<double> random_orthonormal(Index rows, Index columns, std::uint64_t seed) {
  return orthonormal_columns(random_matrix<double>(rows, columns, seed));
}

// n x d with singular values s.
Matrix<double> with_spectrum(Index n, Index d, const std::vector<double>& s, std::uint64_t seed) {
  const auto k = static_cast<Index>(s.size());
  const Eigen::Map<const Eigen::VectorXd> diagonal(s.data(), k);
  return random_orthonormal(n, k, seed) * diagonal.asDiagonal() * random_orthonormal(d, k, seed + 1).transpose();
}

template <class T>
class SpectraOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SpectraOf, Scalars);

TYPED_TEST(SpectraOf, EqualJacobis) {
  using T = TypeParam;
  for (const Index n : {1, 2, 3, 7, 8, 9, 33, 64}) {
    for (const Index d : {1, 2, 5, 8, 31, 65}) {
      const Matrix<T> x = random_matrix<T>(n, d, static_cast<std::uint64_t>(100 * n + d));
      const std::vector<double> expected = jacobi_singular_values(x.template cast<double>());
      const std::vector<double> found = singular_values<T>(x);
      ASSERT_EQ(static_cast<Index>(found.size()), std::min(n, d));
      for (std::size_t i = 0; i < found.size(); ++i) {
        // Backward stable: an absolute error of a small multiple of eps s_1.
        EXPECT_NEAR(found[i], expected[i], 4 * static_cast<double>(n + d) * kEps * found[0]) << n << " x " << d;
      }
    }
  }
}

TEST(Spectra, FindsAKnownSpectrum) {
  const std::vector<double> s = {5, 5, 1, 1e-3, 1e-9, 0};
  for (const auto& [n, d] : {std::pair<Index, Index>{6, 9}, {40, 6}, {50, 60}}) {
    const std::vector<double> found = singular_values<double>(with_spectrum(n, d, s, 1));
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], i < s.size() ? s[i] : 0.0, 1e-14);
  }
}

TEST(SpectralNorm, IsTheLargestSingularValue) {
  for (const auto& [n, d] : {std::pair<Index, Index>{1, 1}, {6, 9}, {40, 6}, {33, 33}, {50, 60}}) {
    const Matrix<double> x = random_matrix<double>(n, d, static_cast<std::uint64_t>(n));
    EXPECT_NEAR(spectral_norm(x), singular_values<double>(x)[0], 1e-14 * spectral_norm(x)) << n << " x " << d;
  }
  EXPECT_EQ(spectral_norm(Matrix<double>::Zero(3, 5)), 0);
  EXPECT_EQ(spectral_norm(Matrix<double>(0, 5)), 0);
}

TEST(Spectra, OfBlocksZerosAndOneRow) {
  EXPECT_EQ(singular_values<double>(Matrix<double>::Zero(3, 5)), std::vector<double>(3, 0.0));
  EXPECT_TRUE(singular_values<double>(Matrix<double>(0, 5)).empty());
  EXPECT_TRUE(singular_values<double>(Matrix<double>(5, 0)).empty());
  const Matrix<float> row = (Matrix<float>(1, 2) << 3, -4).finished();
  ASSERT_EQ(singular_values<float>(row).size(), 1u);
  EXPECT_NEAR(singular_values<float>(row)[0], 5, 1e-14);
  const Matrix<double> x = random_matrix<double>(20, 20, 3);
  EXPECT_EQ(singular_values<double>(x.block(2, 3, 7, 5)), singular_values<double>(Matrix<double>(x.block(2, 3, 7, 5))));
}

TEST(Spectra, HoldAtExtremeScales) {
  const Matrix<double> x = random_matrix<double>(12, 30, 3);
  const RankMeasures at_one = rank_measures<double>(x, {});
  for (const double scale : {1e150, 1e-150, 1e250, 1e-250}) {
    const RankMeasures m = rank_measures<double>(scale * x, {});
    EXPECT_NEAR(m.spectral / scale, at_one.spectral, 1e-12);
    EXPECT_NEAR(m.stable, at_one.stable, 1e-12);
    EXPECT_NEAR(m.effective, at_one.effective, 1e-12);
    EXPECT_NEAR(m.participation, at_one.participation, 1e-12);
    EXPECT_EQ(m.numerical, 12);
  }
}

TEST(Spectra, RefuseWhatIsNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (const Index n : {1, 4, 50}) {
      Matrix<double> x = random_matrix<double>(n, 7, 1);
      x(n - 1, 6) = bad;
      try {
        rank_measures<double>(x, {});
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kNumerical);
        EXPECT_NE(std::string(error.what()).find("NaN or infinite"), std::string::npos) << error.what();
      }
    }
  }
}

TYPED_TEST(SpectraOf, MeasuresObeyTheirLaws) {
  using T = TypeParam;
  for (const Index n : {2, 7, 16, 33}) {
    for (const Index d : {2, 9, 24, 40}) {
      SCOPED_TRACE(::testing::Message() << n << " x " << d);
      const Matrix<T> x = random_matrix<T>(n, d, static_cast<std::uint64_t>(n * d)).array() + T(0.5);
      const RankMeasures m = rank_measures<T>(x, {});
      const CentredNorms norms = centred_norms<T>(x, {});
      const double most = static_cast<double>(std::min(n, d));
      EXPECT_NEAR(m.stable * m.spectral * m.spectral, norms.state.frobenius * norms.state.frobenius,
                  1e-12 * m.stable * m.spectral * m.spectral);
      EXPECT_LE(m.spectral, norms.state.frobenius * (1 + 1e-14));
      EXPECT_LE(m.spectral, norms.state.composite() * (1 + 1e-14));  // ||A||_2^2 <= ||A||_1 ||A||_inf
      EXPECT_LE(m.residual_spectral, norms.residual.composite() * (1 + 1e-14));
      EXPECT_GE(m.stable, 1);
      EXPECT_LE(m.stable, m.effective * (1 + 1e-12));  // exp of Shannon's entropy of s over sum s^2 / s_1^2
      EXPECT_LE(m.effective, most * (1 + 1e-12));
      EXPECT_GE(m.participation, 1 - 1e-12);
      EXPECT_LE(m.participation, std::min(most, static_cast<double>(n - 1)) * (1 + 1e-12));
      EXPECT_EQ(m.numerical, most);
      EXPECT_GE(m.spectral, m.singular_min);
      EXPECT_LE(m.residual_spectral, m.spectral * (1 + 1e-14));  // centring is a projection
    }
  }
}

TEST(RankMeasures, OfAFlatSpectrumAreItsLength) {
  const Matrix<double> x = 3 * random_orthonormal(20, 5, 1).transpose();  // 5 x 20 with singular values 3
  const RankMeasures m = rank_measures<double>(x, {});
  EXPECT_NEAR(m.spectral, 3, 1e-14);
  EXPECT_NEAR(m.stable, 5, 1e-13);
  EXPECT_NEAR(m.effective, 5, 1e-13);
  EXPECT_EQ(m.numerical, 5);
  EXPECT_NEAR(m.singular_min, 3, 1e-14);
  EXPECT_NEAR(m.participation, 4, 1e-13);  // the mean takes one direction away
  EXPECT_NEAR(m.residual_spectral, 3, 1e-14);
}

TEST(RankMeasures, AreTheirFormulas) {
  const Matrix<double> x = with_spectrum(8, 11, {4, 2, 1}, 5);
  const RankMeasures m = rank_measures<double>(x, {});
  EXPECT_NEAR(m.stable, 21.0 / 16, 1e-13);
  const double entropy = std::log(7.0) - (4 * std::log(4.0) + 2 * std::log(2.0)) / 7;
  EXPECT_NEAR(m.effective, std::exp(entropy), 1e-12);
  EXPECT_EQ(m.numerical, 3);
  EXPECT_NEAR(m.singular_min, 0, 1e-14);
  // The covariance itself.
  const Matrix<double> centred = x.rowwise() - x.colwise().mean();
  const Matrix<double> covariance = centred.transpose() * centred;
  EXPECT_NEAR(m.participation, covariance.trace() * covariance.trace() / covariance.squaredNorm(), 1e-12);
}

TEST(RankMeasures, NumericalRankFollowsTheComputeType) {
  const Matrix<double> x = with_spectrum(10, 12, {1, 1e-3, 1e-8}, 5);
  EXPECT_EQ(rank_measures<double>(x, {}).numerical, 3);               // 12 eps = 3e-15
  EXPECT_EQ(rank_measures<float>(x.cast<float>(), {}).numerical, 2);  // 12 eps = 1.4e-6
}

TEST(RankMeasures, OfCollapsedAndZeroStates) {
  const Matrix<double> equal = random_matrix<double>(1, 9, 1).replicate(6, 1);
  const RankMeasures m = rank_measures<double>(equal, {});
  EXPECT_NEAR(m.stable, 1, 1e-13);
  EXPECT_NEAR(m.effective, 1, 1e-12);
  EXPECT_EQ(m.numerical, 1);
  EXPECT_EQ(m.participation, 0);
  EXPECT_EQ(m.residual_spectral, 0);
  for (const Matrix<double>& none :
       {Matrix<double>(Matrix<double>::Zero(4, 3)), Matrix<double>(0, 3), Matrix<double>(3, 0)}) {
    const RankMeasures zero = rank_measures<double>(none, {});
    for (const double v : {zero.spectral, zero.stable, zero.effective, zero.participation, zero.numerical,
                           zero.singular_min, zero.residual_spectral}) {
      EXPECT_EQ(v, 0);
    }
  }
  const RankMeasures one = rank_measures<double>(Matrix<double>::Ones(1, 4), {});
  EXPECT_NEAR(one.spectral, 2, 1e-15);
  EXPECT_EQ(one.numerical, 1);
  EXPECT_EQ(one.participation, 0);
}

TEST(RankMeasures, LeavePaddingOut) {
  Matrix<double> x = random_matrix<double>(6, 9, 1);
  const std::vector<std::uint8_t> valid = {1, 1, 1, 1, 0, 0};
  const RankMeasures a = rank_measures<double>(x.topRows(4), {});
  x.bottomRows(2).setConstant(std::numeric_limits<double>::quiet_NaN());
  const RankMeasures b = rank_measures<double>(x, valid);
  EXPECT_EQ(a.spectral, b.spectral);
  EXPECT_EQ(a.effective, b.effective);
  EXPECT_EQ(a.participation, b.participation);
  EXPECT_EQ(a.residual_spectral, b.residual_spectral);
  EXPECT_EQ(a.singular_min, b.singular_min);
}

}  // namespace
}  // namespace rankfall
