#include "studies/bounds/skip_conditions.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

namespace rankfall {

// P 1 = 1, so in a basis that begins with 1 / sqrt n, P is block triangular: its other eigenvalues are those of the
// part on mean-free vectors. J P J has them and one zero more, which belongs to the mean.
std::optional<double> sharpening(const FrozenHead& head, std::span<const std::complex<double>> values, bool has_zero,
                                 double skip, double branch) {
  const Index n = head.mixing.value.rows();
  if (n < 2 || n > kMostSharpened) return {};
  const Matrix<double> basis = mean_free_basis(n);
  const Matrix<double> mixing = basis.transpose() * plain(head.mixing) * basis;
  if (!mixing.allFinite()) return {};
  const Eigen::EigenSolver<Matrix<double>> solver(mixing, false);
  if (solver.info() != Eigen::Success) return {};
  const double of_zero = has_zero ? std::abs(skip) : 0.0;
  double mean = of_zero;
  double rest = of_zero;
  for (const std::complex<double>& value : values) {
    mean = std::max(mean, std::abs(skip + branch * value));
    for (const std::complex<double>& other : solver.eigenvalues()) {
      rest = std::max(rest, std::abs(skip + branch * other * value));
    }
  }
  if (mean == 0) return {};
  return rest / mean;
}

// lambda^2 |R|^2 + 2 lambda <R, A> + |A|^2 = |R|^2, its larger root.
std::optional<double> lambda_measured(const ScaledMatrix& r, const ScaledMatrix& a) {
  if (r.is_zero()) return {};
  const double square = r.value.squaredNorm();
  const double ratio = a.is_zero() ? 0 : std::exp(a.log - r.log);
  const double half = ratio * r.value.cwiseProduct(a.value).sum() / square;
  const double rest = ratio * ratio * a.value.squaredNorm() / square - 1;
  const double discriminant = half * half - rest;
  if (!std::isfinite(discriminant)) return {};
  if (discriminant <= 0) return 0.0;
  return std::max(0.0, std::sqrt(discriminant) - half);
}

}  // namespace rankfall
