#include "linalg/least_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "linalg/gemm.h"
#include "linalg/spectra.h"

namespace rankfall {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

using Cholesky = Eigen::LLT<Eigen::MatrixXd>;

// An estimate of the least eigenvalue, from above: Lanczos' method on the inverse, with reorthogonalisation.
double least_eigenvalue(const Cholesky& factor, Index n) {
  const Index steps = std::min<Index>(n, 40);
  Eigen::MatrixXd basis(n, steps);
  Eigen::VectorXd diagonal = Eigen::VectorXd::Zero(steps);
  Eigen::VectorXd beside = Eigen::VectorXd::Zero(steps);
  // No structure of the matrix is orthogonal to this.
  Eigen::VectorXd x(n);
  for (Index i = 0; i < n; ++i) x(i) = 1 + 0.5 * std::sin(static_cast<double>(i * i % 1009));
  x.normalize();
  Index size = 0;
  while (size < steps) {
    basis.col(size) = x;
    Eigen::VectorXd y = factor.solve(x);
    if (!y.allFinite()) return 0;
    diagonal(size) = x.dot(y);
    ++size;
    for (int twice = 0; twice < 2; ++twice) y -= basis.leftCols(size) * (basis.leftCols(size).transpose() * y);
    const double length = y.norm();
    if (size == steps || !(length > 1e-12 * diagonal.head(size).maxCoeff())) break;
    beside(size - 1) = length;
    x = y / length;
  }
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal.head(size), beside.head(size - 1), Eigen::EigenvaluesOnly);
  const double largest = solver.eigenvalues()(size - 1);
  return largest > 0 ? 1 / largest : 0;
}

}  // namespace

double least_singular_value_bound(const MatrixRef<double>& a) {
  const Index n = a.rows();
  if (n == 0) return std::numeric_limits<double>::infinity();
  const Eigen::MatrixXd gram = product<double>(true, false, a, a);
  const double trace = gram.trace();
  if (!std::isfinite(trace) || trace < std::numeric_limits<double>::min() / kEps) return 0;
  // gram is off by n eps |a|_F^2 at most, in norm; a factorisation that succeeds, by (n + 1) eps trace (Higham,
  // Accuracy and Stability, 3.5 and 10.3).
  const double margin = 4 * static_cast<double>(n + 2) * kEps * trace;
  const auto shifted = [&](double by) {
    Eigen::MatrixXd m = gram;
    m.diagonal().array() += by;
    return Cholesky(m);
  };
  const double guess = least_eigenvalue(shifted(margin), n);
  for (const double less : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5}) {
    const double t = guess * (1 - less);
    if (!(t > 2 * margin)) return 0;
    if (shifted(-t).info() == Eigen::Success) return std::sqrt(t - margin);
  }
  return 0;
}

double least_singular_value_estimate(const LinearMap& map, const LinearMap& transposed, const Matrix<double>& start,
                                     int steps) {
  const double length = start.norm();
  if (length == 0) return 0;
  Matrix<double> v = start / length;
  Matrix<double> u = map(v);
  Matrix<double> bidiagonal = Matrix<double>::Zero(steps, steps);
  Index size = 0;
  for (; size < steps; ++size) {
    const double alpha = u.norm();
    bidiagonal(size, size) = alpha;
    if (size + 1 == steps || !(alpha > 0)) break;
    u /= alpha;
    v = transposed(u) - alpha * v;
    const double beta = v.norm();
    if (!(beta > 1e-12 * alpha)) break;  // the space is invariant
    v /= beta;
    bidiagonal(size, size + 1) = beta;
    u = map(v) - beta * u;
  }
  ++size;
  size = std::min<Index>(size, steps);
  if (!bidiagonal.allFinite()) return 0;
  return singular_values<double>(Matrix<double>(bidiagonal.topLeftCorner(size, size))).back();
}

}  // namespace rankfall
