#include "linalg/attention_measures.h"

#include <algorithm>
#include <vector>

#include "base/dcheck.h"
#include "base/parallel.h"
#include "linalg/norms_impl.h"
#include "linalg/spectra.h"

namespace rankfall {

double row_entropy(const RowVectorRef<double>& p) {
  // A buffer of our own: Eigen's order of summation follows alignment.
  const Eigen::Array<double, 1, Eigen::Dynamic> q = p.array();
  const double entropy = -(q == 0.0).select(0.0, q * q.log()).sum();
  return entropy <= 0 ? 0 : entropy;
}

template <class T>
double dobrushin(const MatrixRef<T>& p) {
  const Index n = p.rows();
  // Rows start at multiples of 64 bytes; the columns added are zero.
  constexpr Index kAlign = 8;
  Matrix<double> rows = Matrix<double>::Zero(n, (p.cols() + kAlign - 1) / kAlign * kAlign);
  rows.leftCols(p.cols()) = p.template cast<double>();
  // A strip of rows is a unit of work: it stays in cache while the later rows pass by.
  constexpr Index kStrip = 8;
  const Index n_strips = (n + kStrip - 1) / kStrip;
  std::vector<double> largest(static_cast<std::size_t>(n_strips), 0.0);
  parallel_for(n_strips, [&](Index strip) {
    double worst = 0;
    const Index end = std::min(n, (strip + 1) * kStrip);
    for (Index k = strip * kStrip + 1; k < n; ++k) {
      for (Index i = strip * kStrip; i < std::min(end, k); ++i) {
        const double distance = (rows.row(i) - rows.row(k)).cwiseAbs().sum();
        if (distance > worst || distance != distance) worst = distance;
      }
    }
    largest[static_cast<std::size_t>(strip)] = worst;
  });
  double worst = 0;
  for (const double distance : largest) {
    if (distance > worst || distance != distance) worst = distance;
  }
  return 0.5 * worst;
}

template <class T>
AttentionMeasures attention_measures(const MatrixRef<T>& p, std::span<const std::uint8_t> valid) {
  RANKFALL_DCHECK(p.rows() == p.cols());
  const std::vector<Index> tokens = valid_rows(p.rows(), valid);
  const Matrix<double> part = p(tokens, tokens).template cast<double>();
  if (part.rows() == 0) return {};
  AttentionMeasures measures;
  for (Index i = 0; i < part.rows(); ++i) measures.entropy += row_entropy(part.row(i));
  measures.entropy /= static_cast<double>(part.rows());
  measures.sink = part.col(0).mean();
  const std::vector<double> s = singular_values<double>(part);
  measures.sigma1 = s[0];
  measures.sigma2 = s.size() > 1 ? s[1] : 0;
  measures.rank1_distance = measures.sigma1 > 0 ? measures.sigma2 / measures.sigma1 : 0;
  measures.dobrushin = dobrushin<double>(part);
  return measures;
}

template double dobrushin(const MatrixRef<float>&);
template double dobrushin(const MatrixRef<double>&);
template AttentionMeasures attention_measures(const MatrixRef<float>&, std::span<const std::uint8_t>);
template AttentionMeasures attention_measures(const MatrixRef<double>&, std::span<const std::uint8_t>);

}  // namespace rankfall
