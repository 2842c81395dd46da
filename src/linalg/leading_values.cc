#include "linalg/leading_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <string_view>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <fmt/format.h>

#include "base/random.h"
#include "linalg/gemm.h"
#include "linalg/spectra.h"

namespace rankfall {
namespace {

Matrix<double> gaussian(std::uint64_t seed, std::string_view name, Index rows, Index cols) {
  Matrix<float> out(rows, cols);
  fill_normal(random_key(seed, name), 0, std::span(out.data(), static_cast<std::size_t>(out.size())), 1);
  return out.cast<double>();
}

// y := y - q (q^T y).
void project_out(const MatrixRef<double>& q, Matrix<double>& y) {
  if (q.cols() == 0) return;
  gemm<double>(false, false, -1, q, product<double>(true, false, q, y), 1, y);
}

// An orthonormal basis of the columns; where they are dependent, with other directions too.
Matrix<double> orthonormal(const Matrix<double>& y) {
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr{Eigen::MatrixXd(y)};
  return qr.householderQ() * Eigen::MatrixXd::Identity(y.rows(), y.cols());
}

// Makes the columns of y orthonormal, and orthogonal to those of q. Columns that lie in the span of q, as they do when
// the matrix has no more to give, become random ones.
void join(const MatrixRef<double>& q, const std::string& name, std::uint64_t seed, Matrix<double>& y) {
  constexpr int kPasses = 6;  // two do, unless columns are dependent
  for (int pass = 0; pass < kPasses; ++pass) {
    const RowVector<double> length = y.colwise().norm();
    project_out(q, y);
    const Matrix<double> other = gaussian(seed, fmt::format("{} {}", name, pass), y.rows(), y.cols());
    for (Index c = 0; c < y.cols(); ++c) {
      if (y.col(c).norm() <= 1e-12 * length(c)) y.col(c) = other.col(c);
    }
    y = orthonormal(y);
    if (q.cols() == 0 || product<double>(true, false, q, y).cwiseAbs().maxCoeff() < 1e-14) return;
  }
}

Matrix<double> krylov_basis(const MatrixRef<double>& a, Index dimension, const LeadingOptions& options) {
  Matrix<double> q(a.rows(), dimension);
  Matrix<double> last;
  for (Index first = 0; first < dimension; first += options.block) {
    const Index width = std::min(options.block, dimension - first);
    Matrix<double> y = product<double>(false, false, a,
                                       first == 0 ? gaussian(options.seed, "leading values", a.cols(), width)
                                                  : product<double>(true, false, a, last.leftCols(width)));
    join(q.leftCols(first), fmt::format("leading values {}", first), options.seed, y);
    q.middleCols(first, width) = y;
    last = std::move(y);
  }
  return q;
}

// An upper bound of the norm of a matrix of `cols` columns, given as what it and its transpose do.
using Map = std::function<Matrix<double>(const Matrix<double>&)>;
double norm_above(const Map& map, const Map& transposed, Index cols, std::uint64_t seed, const char* name) {
  constexpr Index kVectors = 10;
  constexpr int kPower = 10;
  Matrix<double> y = map(gaussian(seed, name, cols, kVectors));
  double log_scale = 0;
  for (int step = 0; step < kPower; ++step) {
    const double largest = y.cwiseAbs().maxCoeff();
    if (largest == 0) return 0;
    log_scale += std::log(largest);
    y = map(transposed(y / largest));
  }
  const double longest = y.colwise().norm().maxCoeff();
  if (longest == 0) return 0;
  const double log_bound = std::log(10) + 0.5 * std::log(2 / std::numbers::pi) + std::log(longest) + log_scale;
  return std::exp(log_bound / (2 * kPower + 1));
}

}  // namespace

LeadingValues leading_values(const MatrixRef<double>& a, const LeadingOptions& options) {
  LeadingValues out;
  const Index dimension = std::min({options.dimension, a.rows(), a.cols()});
  if (dimension < 1) return out;
  out.frobenius = a.norm();
  const Matrix<double> q = krylov_basis(a, dimension, options);
  const Matrix<double> b = product<double>(true, false, q, a);
  out.values = singular_values<double>(b);

  // Of A without its part in the span of some columns.
  const auto norm_outside = [&](const Matrix<double>& columns, const char* name) {
    const auto forth = [&](const Matrix<double>& x) {
      Matrix<double> y = product<double>(false, false, a, x);
      project_out(columns, y);
      return y;
    };
    const auto back = [&](Matrix<double> y) {
      project_out(columns, y);
      return product<double>(true, false, a, y);
    };
    return norm_above(forth, back, a.cols(), options.seed, name);
  };
  out.rest = norm_outside(q, "rest");
  const double by_rest = out.values.size() > 1 ? std::hypot(out.values[1], out.rest) : out.rest;
  if (out.values[0] == 0) return out;

  // sigma_2 <= |A - u u^T A| for any unit vector u; here the leading one.
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> solver(product<double>(false, true, b, b));
  const Matrix<double> leading = q * solver.eigenvectors().rightCols(1);
  out.second = std::min(by_rest, norm_outside(leading, "second"));
  return out;
}

}  // namespace rankfall
