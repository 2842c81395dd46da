#include <cmath>
#include <cstdint>
#include <vector>

#include <boost/multiprecision/mpfr.hpp>
// After mpfr.hpp.
#include <boost/multiprecision/eigen.hpp>
#include <gtest/gtest.h>

#include "base/random.h"
#include "linalg/gemm_impl.h"
#include "linalg/norms_impl.h"

// The same templates with 50 digits, against double.

namespace rankfall {
namespace {

using Real =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<50>, boost::multiprecision::et_off>;

Matrix<double> random_matrix(Index rows, Index columns) {
  Matrix<float> m(rows, columns);
  fill_normal(random_key(0, "norms_mpfr_test"), 0, {m.data(), static_cast<std::size_t>(m.size())}, 1.0);
  return m.cast<double>();
}

void expect_near(const Norms& a, const Norms& b, double relative) {
  EXPECT_NEAR(a.one, b.one, relative * b.one);
  EXPECT_NEAR(a.inf, b.inf, relative * b.inf);
  EXPECT_NEAR(a.frobenius, b.frobenius, relative * b.frobenius);
}

TEST(NormsMpfr, AgreeWithDouble) {
  const Matrix<double> x = random_matrix(9, 21);
  const Matrix<Real> exact = x.cast<Real>();
  const std::vector<std::uint8_t> valid = {1, 1, 0, 1, 1, 1, 1, 1, 1};
  const CentredNorms a = centred_norms<double>(x, valid);
  const CentredNorms b = centred_norms<Real>(exact, valid);
  expect_near(a.state, b.state, 1e-14);
  expect_near(a.residual, b.residual, 1e-14);
  expect_near(norms<double>(x), norms<Real>(exact), 1e-14);
  EXPECT_NEAR(cosines<double>(x, valid).mean, cosines<Real>(exact, valid).mean, 1e-15);
  EXPECT_NEAR(cosines<double>(x, valid).mean_abs, cosines<Real>(exact, valid).mean_abs, 1e-15);
}

// A nearly collapsed state: entries of size 1, residual of size 1e-12. Double must find the residual of the rows it was
// given to their own rounding, although the state's rounding is 1e-4 of it.
TEST(NormsMpfr, AgreeWithDoubleNearCollapse) {
  const Matrix<double> x = random_matrix(1, 40).replicate(16, 1) + 1e-12 * random_matrix(16, 40);
  const CentredNorms a = centred_norms<double>(x, {});
  const CentredNorms b = centred_norms<Real>(x.cast<Real>(), {});
  expect_near(a.residual, b.residual, 1e-14);
}

TEST(NormsMpfr, SumsKeepAllDigits) {
  const Matrix<Real> x = (Matrix<Real>(2, 1) << Real(1), Real(1) + Real("1e-40")).finished();
  const auto sums = centred_norm_sums<Real>(x, {});
  EXPECT_LT(abs(sums.residual.one() / Real("1e-40") - 1), Real("1e-9"));
  EXPECT_LT(abs(sums.residual.frobenius() / Real("1e-40") * sqrt(Real(2)) - 1), Real("1e-9"));
}

}  // namespace
}  // namespace rankfall
