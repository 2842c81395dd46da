#include "linalg/spectra.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <Eigen/Eigenvalues>

#include "base/errors.h"
#include "linalg/gemm.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include "linalg/svd.h"

namespace rankfall {
namespace {

// Sums below are over s / s_1, so that no power leaves the range of double.

double stable_rank(std::span<const double> s) {
  if (s.empty() || s[0] == 0) return 0;
  double sum = 0;
  for (const double value : s) sum += (value / s[0]) * (value / s[0]);
  return sum;
}

double participation_ratio(std::span<const double> s) {
  if (s.empty() || s[0] == 0) return 0;
  double sum = 0;
  double sum_squares = 0;
  for (const double value : s) {
    const double eigenvalue = (value / s[0]) * (value / s[0]);
    sum += eigenvalue;
    sum_squares += eigenvalue * eigenvalue;
  }
  return sum * sum / sum_squares;
}

}  // namespace

double effective_rank(std::span<const double> s) {
  if (s.empty() || s[0] == 0) return 0;
  double total = 0;
  for (const double value : s) total += value / s[0];
  double entropy = 0;
  for (const double value : s) {
    const double p = value / s[0] / total;
    if (p > 0) entropy -= p * std::log(p);
  }
  return std::exp(entropy);
}

double spectral_norm(const MatrixRef<double>& m) {
  if (m.size() == 0) return 0;
  const bool wide = m.rows() <= m.cols();
  const Matrix<double> gram = product<double>(!wide, wide, m, m);
  if (!gram.allFinite()) {
    throw numerical_error("spectral norm of a {} x {} matrix: squares leave the range of double", m.rows(), m.cols());
  }
  const Eigen::SelfAdjointEigenSolver<Matrix<double>> solver(gram, Eigen::EigenvaluesOnly);
  return std::sqrt(std::max(0.0, solver.eigenvalues()(gram.rows() - 1)));
}

template <class T>
std::vector<double> singular_values(const MatrixRef<T>& m) {
  Matrix<double> copy = m.template cast<double>();
  return destructive_singular_values(copy);
}

template <class T>
RankMeasures rank_measures(const MatrixRef<T>& x, std::span<const std::uint8_t> valid) {
  const std::vector<Index> rows = valid_rows(x.rows(), valid);
  Matrix<double> state = x(rows, Eigen::all).template cast<double>();
  const double tolerance = static_cast<double>(std::max(state.rows(), state.cols())) *
                           static_cast<double>(std::numeric_limits<T>::epsilon());
  const std::vector<double> s = destructive_singular_values(state);
  if (s.empty()) return {};
  Matrix<double> residual = centred_rows<T>(x, valid);
  const std::vector<double> r = destructive_singular_values(residual);
  RankMeasures measures;
  measures.spectral = s.front();
  measures.stable = stable_rank(s);
  measures.effective = effective_rank(s);
  measures.participation = participation_ratio(r);
  measures.numerical =
      static_cast<double>(std::count_if(s.begin(), s.end(), [&](double v) { return v > tolerance * s.front(); }));
  measures.singular_min = s.back();
  measures.residual_spectral = r.front();
  return measures;
}

template std::vector<double> singular_values(const MatrixRef<float>&);
template std::vector<double> singular_values(const MatrixRef<double>&);
template RankMeasures rank_measures(const MatrixRef<float>&, std::span<const std::uint8_t>);
template RankMeasures rank_measures(const MatrixRef<double>&, std::span<const std::uint8_t>);

}  // namespace rankfall
