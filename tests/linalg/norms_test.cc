#include "linalg/norms.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/dcheck.h"
#include "linalg/gemm.h"
#include "linalg/matrices.h"

namespace rankfall {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// The definitions, in the plainest words.
Norms plain_norms(const Matrix<double>& x) {
  Norms norms;
  for (Index j = 0; j < x.cols(); ++j) norms.one = std::max(norms.one, x.col(j).cwiseAbs().sum());
  for (Index i = 0; i < x.rows(); ++i) norms.inf = std::max(norms.inf, x.row(i).cwiseAbs().sum());
  norms.frobenius = x.norm();
  return norms;
}

void expect_near(const Norms& a, const Norms& b, double relative) {
  EXPECT_NEAR(a.one, b.one, relative * b.one);
  EXPECT_NEAR(a.inf, b.inf, relative * b.inf);
  EXPECT_NEAR(a.frobenius, b.frobenius, relative * b.frobenius);
  EXPECT_NEAR(a.composite(), b.composite(), relative * b.composite());
}

template <class T>
class NormsOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NormsOf, Scalars);

TYPED_TEST(NormsOf, AreTheirDefinitions) {
  using T = TypeParam;
  for (const Index n : {1, 2, 3, 7, 33}) {
    for (const Index d : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 768}) {
      SCOPED_TRACE(::testing::Message() << n << " x " << d);
      const Matrix<T> x = random_matrix<T>(n, d, static_cast<std::uint64_t>(1000 * n + d));
      const Matrix<double> wide = x.template cast<double>();
      const Matrix<double> residual = wide.rowwise() - wide.colwise().mean();
      // Sums of at most n d terms in double, two orders of summation; entries are of order one.
      const double tolerance = 4 * static_cast<double>(n + d) * kEps;
      expect_near(norms<T>(x), plain_norms(wide), tolerance);
      const CentredNorms centred = centred_norms<T>(x, {});
      expect_near(centred.state, plain_norms(wide), tolerance);
      EXPECT_LE((centred_rows<T>(x, {}) - residual).cwiseAbs().maxCoeff(), 8 * tolerance);
      if (n > 1) expect_near(centred.residual, plain_norms(residual), 8 * tolerance);
    }
  }
}

TYPED_TEST(NormsOf, DoNotDependOnWhereTheMatrixLies) {
  using T = TypeParam;
  const Matrix<T> x = random_matrix<T>(9, 77, 5);
  const CentredNorms expected = centred_norms<T>(x, {});
  for (const Index offset : {1, 2, 3, 5}) {
    Matrix<T> wider = Matrix<T>::Constant(9, 77 + 2 * offset, T(1e9));
    wider.middleCols(offset, 77) = x;
    const CentredNorms found = centred_norms<T>(wider.middleCols(offset, 77), {});
    EXPECT_EQ(found.residual.one, expected.residual.one);
    EXPECT_EQ(found.residual.inf, expected.residual.inf);
    EXPECT_EQ(found.residual.frobenius, expected.residual.frobenius);
    EXPECT_EQ(found.state.frobenius, expected.state.frobenius);
    EXPECT_EQ(cosines<T>(wider.middleCols(offset, 77), {}).mean, cosines<T>(x, {}).mean);
  }
}

TYPED_TEST(NormsOf, LeavePaddingOut) {
  using T = TypeParam;
  const Matrix<T> x = random_matrix<T>(5, 19, 1);
  Matrix<T> padded(8, 19);
  padded.setConstant(std::numeric_limits<T>::quiet_NaN());
  const std::vector<std::uint8_t> valid = {0, 1, 1, 0, 1, 255, 1, 0};
  Index from = 0;
  for (Index i = 0; i < 8; ++i) {
    if (valid[static_cast<std::size_t>(i)] != 0) padded.row(i) = x.row(from++);
  }
  const CentredNorms a = centred_norms<T>(padded, valid);
  const CentredNorms b = centred_norms<T>(x, {});
  EXPECT_EQ(a.residual.one, b.residual.one);
  EXPECT_EQ(a.residual.inf, b.residual.inf);
  EXPECT_EQ(a.residual.frobenius, b.residual.frobenius);
  EXPECT_EQ(a.state.one, b.state.one);
  EXPECT_EQ(a.state.inf, b.state.inf);
  EXPECT_EQ(a.state.frobenius, b.state.frobenius);
  EXPECT_EQ(centred_rows<T>(padded, valid), centred_rows<T>(x, {}));
  EXPECT_EQ(cosines<T>(padded, valid).mean, cosines<T>(x, {}).mean);
  EXPECT_EQ(cosines<T>(padded, valid).mean_abs, cosines<T>(x, {}).mean_abs);
  EXPECT_EQ(cosines<T>(padded, valid).n_pairs, 10);
}

TYPED_TEST(NormsOf, OfEqualRowsHaveExactlyZeroResidual) {
  using T = TypeParam;
  for (const Index n : {1, 2, 3, 7, 128}) {
    const Matrix<T> x = random_matrix<T>(1, 100, 3).replicate(n, 1) / T(3);
    const Norms r = centred_norms<T>(x, {}).residual;
    EXPECT_EQ(r.one, 0);
    EXPECT_EQ(r.inf, 0);
    EXPECT_EQ(r.frobenius, 0);
    EXPECT_EQ(r.composite(), 0);
  }
}

TEST(Norms, ResidualIsRightToItsOwnRounding) {
  // Rows 1000/3 + k ulp: differences are a few ulps of the state, and exact. A mean formed from the rows would be off
  // by ulps.
  const Index n = 7, d = 12;
  const double base = 1000.0 / 3;
  const double ulp = std::nextafter(base, 2000) - base;
  const Matrix<double> k = (3 * random_matrix<double>(n, d, 1)).array().round();
  const Matrix<double> x = (base + ulp * k.array()).matrix();
  const Matrix<double> residual = ulp * (k.rowwise() - k.colwise().mean());
  EXPECT_LE((centred_rows<double>(x, {}) - residual).cwiseAbs().maxCoeff(), 20 * kEps * ulp);
  expect_near(centred_norms<double>(x, {}).residual, plain_norms(residual), 50 * kEps);
}

TEST(Norms, CompositeIsNoNorm) {  // the example of math.md 1
  Matrix<double> a(2, 2), b(2, 2);
  a << 1, 0, 1, 0;
  b << 1, 1, 0, 0;
  EXPECT_NEAR(norms<double>(a).composite(), std::sqrt(2), 1e-15);
  EXPECT_NEAR(norms<double>(b).composite(), std::sqrt(2), 1e-15);
  EXPECT_NEAR(norms<double>(a + b).composite(), 3, 1e-15);
}

TEST(Norms, KeepTheirRelativeAccuracyAtAnyScale) {
  const Matrix<double> x = random_matrix<double>(33, 65, 2);
  const CentredNorms at_one = centred_norms<double>(x, {});
  for (const double scale : {1e150, 1e250, 1e300, 1e-150, 1e-200, 1e-290}) {
    SCOPED_TRACE(scale);
    const CentredNorms found = centred_norms<double>(scale * x, {});
    const auto scaled = [&](const Norms& n) { return Norms{scale * n.one, scale * n.inf, scale * n.frobenius}; };
    expect_near(found.state, scaled(at_one.state), 1e-13);
    expect_near(found.residual, scaled(at_one.residual), 1e-13);
    expect_near(norms<double>(scale * x), scaled(at_one.state), 1e-13);
    EXPECT_NEAR(cosines<double>(scale * x, {}).mean_abs, cosines<double>(x, {}).mean_abs, 1e-13);
  }
  // Only the residual is out of the squares' range.
  Matrix<double> collapsed = Matrix<double>::Zero(4, 6);
  collapsed.col(0).setOnes();
  collapsed(0, 1) = 1e-200;
  const Norms r = centred_norms<double>(collapsed, {}).residual;
  EXPECT_NEAR(r.frobenius, std::sqrt(0.75) * 1e-200, 1e-214);
  EXPECT_NEAR(r.one, 1.5e-200, 1e-214);
}

TEST(Norms, OfFloatSumInDouble) {
  // 2^24 + 1 is no float: a float sum would lose every second term.
  Matrix<float> x = Matrix<float>::Constant(4, 1001, 1.0f);
  x.col(0).setConstant(16777216.0f);
  EXPECT_EQ(norms<float>(x).inf, 16777216.0 + 1000);
  EXPECT_EQ(norms<float>(x).one, 4 * 16777216.0);
  const Matrix<float> large = Matrix<float>::Constant(3, 5, 3e38f);
  EXPECT_NEAR(norms<float>(large).frobenius, 3e38 * std::sqrt(15), 1e32);
}

TEST(Norms, OfNothingAreZero) {
  EXPECT_EQ(norms<double>(Matrix<double>(0, 5)).frobenius, 0);
  EXPECT_EQ(norms<double>(Matrix<double>(5, 0)).one, 0);
  const Matrix<double> x = Matrix<double>::Ones(2, 3);
  const std::vector<std::uint8_t> none = {0, 0};
  EXPECT_EQ(centred_norms<double>(x, none).state.composite(), 0);
  EXPECT_EQ(centred_norms<double>(x, none).residual.inf, 0);
  EXPECT_EQ(centred_rows<double>(x, none).rows(), 0);
  EXPECT_EQ(norms<float>(Matrix<float>::Zero(3, 3)).composite(), 0);
}

TEST(Norms, ShowNanAndInfinity) {
  for (const Index at : {0, 3, 8}) {
    Matrix<double> x = random_matrix<double>(3, 9, 1);
    x(1, at) = kNotANumber;
    const CentredNorms found = centred_norms<double>(x, {});
    for (const Norms& n : {found.state, found.residual, norms<double>(x)}) {
      EXPECT_TRUE(std::isnan(n.one) && std::isnan(n.inf) && std::isnan(n.frobenius) && std::isnan(n.composite()));
    }
    EXPECT_TRUE(std::isnan(cosines<double>(x, {}).mean));
    EXPECT_TRUE(std::isnan(cosines<double>(x, {}).mean_abs));
    x(1, at) = -kInfinity;
    EXPECT_EQ(norms<double>(x).one, kInfinity);
    EXPECT_EQ(norms<double>(x).inf, kInfinity);
    EXPECT_EQ(norms<double>(x).frobenius, kInfinity);
    EXPECT_TRUE(std::isnan(centred_norms<double>(x, {}).residual.composite()));
  }
}

TYPED_TEST(NormsOf, CosinesAreTheirDefinition) {
  using T = TypeParam;
  // Around vector widths and around the tile of 256 rows.
  for (const Index n : {2, 3, 8, 9, 255, 256, 257, 520}) {
    const Matrix<T> x = random_matrix<T>(n, 17, static_cast<std::uint64_t>(n));
    double sum = 0, sum_abs = 0;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        if (i == j) continue;
        const auto a = x.row(i).template cast<double>(), b = x.row(j).template cast<double>();
        const double cosine = a.dot(b) / (a.norm() * b.norm());
        sum += cosine;
        sum_abs += std::abs(cosine);
      }
    }
    const double pairs = static_cast<double>(n * (n - 1));
    const Cosines found = cosines<T>(x, {});
    // A dot product of 17 terms of rounded unit rows.
    const double tolerance = 20 * static_cast<double>(std::numeric_limits<T>::epsilon());
    EXPECT_NEAR(found.mean, sum / pairs, tolerance) << n;
    EXPECT_NEAR(found.mean_abs, sum_abs / pairs, tolerance) << n;
    EXPECT_EQ(found.n_pairs, n * (n - 1) / 2);
  }
}

TEST(Cosines, AreExactWhereTheyAreObvious) {
  Matrix<double> x(4, 2);
  x << 2, 0, 0, 3, -5, 0, 0, 0;  // e1, e2, -e1 and a zero row: one pair of -1, the rest 0
  EXPECT_DOUBLE_EQ(cosines<double>(x, {}).mean, -1.0 / 6);
  EXPECT_DOUBLE_EQ(cosines<double>(x, {}).mean_abs, 1.0 / 6);
  EXPECT_EQ(cosines<double>(Matrix<double>::Zero(3, 3), {}).mean_abs, 0);
  // Never beyond one, however it rounds.
  const Matrix<float> equal = random_matrix<float>(1, 768, 4).replicate(300, 1);
  EXPECT_LE(cosines<float>(equal, {}).mean, 1);
  EXPECT_NEAR(cosines<float>(equal, {}).mean, 1, 1e-6);
}

TEST(Cosines, NeedTwoRows) {
  for (const Index n : {0, 1}) {
    const Cosines found = cosines<double>(Matrix<double>::Ones(n, 3), {});
    EXPECT_EQ(found.n_pairs, 0);
    EXPECT_EQ(found.mean, 0);
    EXPECT_EQ(found.mean_abs, 0);
  }
}

#ifdef RANKFALL_DCHECKS
TEST(Norms, RefuseAMaskOfAnotherLength) {
  const std::vector<std::uint8_t> valid = {1, 1};
  EXPECT_THROW(centred_norms<double>(Matrix<double>::Ones(3, 3), valid), Bug);
}
#endif

}  // namespace
}  // namespace rankfall
