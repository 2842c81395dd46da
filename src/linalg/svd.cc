#include "linalg/svd.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/errors.h"
#include "linalg/gemm.h"

// The length of `jobz` is the hidden last argument of gfortran's convention.
// NOLINTNEXTLINE(readability-identifier-naming): LAPACK's name
extern "C" void dgesdd_(const char* jobz, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
                        const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork,
                        int* info, std::size_t jobz_length);

namespace rankfall {
namespace {

// Rows of a Matrix are LAPACK's columns: it sees the transpose of m, whose u is our right and whose v^T is our left,
// each in the layout of a Matrix. The values are the same. `left` and `right` are null where no vectors are wanted.
std::vector<double> call_dgesdd(Matrix<double>& m, double* left, double* right) {
  const Index n_values = std::min(m.rows(), m.cols());
  std::vector<double> values(static_cast<std::size_t>(n_values));
  if (n_values == 0) return values;
  if (!m.allFinite()) {
    throw numerical_error("singular values of a {} x {} matrix: it has NaN or infinite entries", m.rows(), m.cols());
  }
  const char* job = left == nullptr ? "N" : "S";
  const int rows = static_cast<int>(m.cols());
  const int columns = static_cast<int>(m.rows());
  const int n_vectors = left == nullptr ? 1 : static_cast<int>(n_values);
  const int right_stride = left == nullptr ? 1 : rows;
  int info = 0;
  std::vector<int> iwork(8 * static_cast<std::size_t>(n_values));
  const auto call = [&](double* work, int lwork) {
    dgesdd_(job, &rows, &columns, m.data(), &rows, values.data(), right, &right_stride, left, &n_vectors, work, &lwork,
            iwork.data(), &info, 1);
  };
  double best = 0;
  call(&best, -1);
  const int lwork = info == 0 ? static_cast<int>(best) : 0;
  std::vector<double> work(static_cast<std::size_t>(std::max(1, lwork)));
  if (info == 0) call(work.data(), lwork);
  if (info != 0) {
    throw numerical_error("singular values of a {} x {} matrix: dgesdd failed with info = {}", m.rows(), m.cols(),
                          info);
  }
  return values;
}

}  // namespace

std::vector<double> destructive_singular_values(Matrix<double>& m) { return call_dgesdd(m, nullptr, nullptr); }

ThinSvd destructive_thin_svd(Matrix<double>& m) {
  const Index k = std::min(m.rows(), m.cols());
  ThinSvd svd{.left = Matrix<double>(m.rows(), k), .values = {}, .right = Matrix<double>(k, m.cols())};
  svd.values = call_dgesdd(m, svd.left.data(), svd.right.data());
  return svd;
}

Matrix<double> pseudo_inverse(Matrix<double> a) {
  if (!a.allFinite()) return Matrix<double>::Constant(a.cols(), a.rows(), std::numeric_limits<double>::quiet_NaN());
  ThinSvd svd = destructive_thin_svd(a);
  const double least = svd.values.empty() ? 0 : 1e-10 * svd.values.front();
  for (Index i = 0; i < svd.right.rows(); ++i) {
    const double value = svd.values[static_cast<std::size_t>(i)];
    svd.right.row(i) *= value > least ? 1 / value : 0;
  }
  return product<double>(true, true, svd.right, svd.left);
}

}  // namespace rankfall
