#include "linalg/rank_one.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <Eigen/Eigenvalues>

#include "base/errors.h"
#include "linalg/gemm.h"
#include "linalg/norms.h"
#include "linalg/spectra.h"

// NOLINTNEXTLINE(readability-identifier-naming): LAPACK's name
extern "C" void sgesdd_(const char* jobz, const int* m, const int* n, float* a, const int* lda, float* s, float* u,
                        const int* ldu, float* vt, const int* ldvt, float* work, const int* lwork, int* iwork,
                        int* info, std::size_t jobz_length);

namespace rankfall {
namespace {

// Below this share of the mean part the first-order formula is better than what rounding leaves of the exact one.
constexpr double kFirstOrder = 1e-7;

double largest_singular_value(const Matrix<double>& m) {
  const double size = m.cwiseAbs().maxCoeff();
  return size == 0 ? 0 : size * spectral_norm(m / size);
}

// The left singular vector of the largest singular value, or the right one if columns are fewer; unit length.
RowVector<double> leading_vector(const Matrix<double>& m) {
  const bool left = m.rows() <= m.cols();
  const Matrix<double> scaled = m / m.cwiseAbs().maxCoeff();
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> solver(product<double>(!left, left, scaled, scaled));
  return solver.eigenvectors().rightCols(1).transpose();
}

}  // namespace

RankOneDistance rank_one_distance(const RowVectorRef<double>& mean, const MatrixRef<double>& residual) {
  const double n = static_cast<double>(residual.rows());
  const double common = std::sqrt(n) * mean.norm();
  const double rest = residual.norm();
  if (!std::isfinite(common) || !std::isfinite(rest)) {
    throw numerical_error("distance from rank one: the matrix has NaN or infinite entries");
  }
  if (common == 0 && rest == 0) return {};
  Matrix<double> whole = residual;
  whole.rowwise() += RowVector<double>(mean);
  Matrix<double> remainder;
  double largest = common;
  if (rest < kFirstOrder * common) {
    const RowVector<double> v = mean / mean.norm();
    remainder = residual;
    remainder -= (residual * v.transpose()) * v;
  } else {
    const RowVector<double> vector = leading_vector(whole);
    remainder = whole;
    if (whole.rows() <= whole.cols()) {  // M - u (u^T M)
      const RowVector<double> row = vector * whole;
      largest = row.norm();
      remainder -= vector.transpose() * row;
    } else {
      const RowVector<double> column = (whole * vector.transpose()).transpose();
      largest = column.norm();
      remainder -= column.transpose() * vector;
    }
  }
  return {largest_singular_value(remainder) / largest,
          norms<double>(remainder).composite() / norms<double>(whole).composite()};
}

double rank_one_remainder_f32(const MatrixRef<double>& m) {
  // Rows are LAPACK's columns: it decomposes the transpose, whose factors change places.
  const Matrix<float> whole = m.cast<float>();
  Matrix<float> a = whole;
  const int rows = static_cast<int>(m.cols());
  const int columns = static_cast<int>(m.rows());
  const int k = std::min(rows, columns);
  std::vector<float> s(static_cast<std::size_t>(k));
  std::vector<float> u(static_cast<std::size_t>(rows) * static_cast<std::size_t>(k));
  std::vector<float> vt(static_cast<std::size_t>(k) * static_cast<std::size_t>(columns));
  std::vector<int> iwork(8 * static_cast<std::size_t>(k));
  int info = 0;
  const auto call = [&](float* work, int lwork) {
    sgesdd_("S", &rows, &columns, a.data(), &rows, s.data(), u.data(), &rows, vt.data(), &k, work, &lwork, iwork.data(),
            &info, 1);
  };
  float best = 0;
  call(&best, -1);
  std::vector<float> work(static_cast<std::size_t>(std::max(1.0F, best)));
  if (info == 0) call(work.data(), static_cast<int>(work.size()));
  if (info != 0) {
    throw numerical_error("singular vectors of a {} x {} matrix: sgesdd failed with info = {}", m.rows(), m.cols(),
                          info);
  }
  Matrix<float> remainder = whole;
  for (Index i = 0; i < whole.rows(); ++i) {
    for (Index j = 0; j < whole.cols(); ++j) {
      remainder(i, j) -= s[0] * u[static_cast<std::size_t>(j)] * vt[static_cast<std::size_t>(i * k)];
    }
  }
  return norms<float>(remainder).composite() / norms<float>(whole).composite();
}

}  // namespace rankfall
