#include "engine/split/split_softmax.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rankfall {
namespace {

// D_j = q_j (em_j - m) / (1 + m), m = sum_j q_j em_j, em = e^E - 1, in place of em; em and m may have been divided by
// the size of E.
void weigh(const RowVector<double>& q, double m, double divisor, Eigen::Ref<RowVector<double>> em) {
  for (Index j = 0; j < em.size(); ++j) em(j) = q(j) * (em(j) - m) / divisor;
}

}  // namespace

void centre(const Projections& p, ScaledRow& r) {
  double sum = 0;
  double count = 0;
  for (Index j = 0; j < r.value.size(); ++j) {
    if (!p.is_valid(j)) continue;
    sum += r.value(j);
    ++count;
  }
  for (Index j = 0; j < r.value.size(); ++j) r.value(j) = p.is_valid(j) ? r.value(j) - sum / count : 0.0;
  rescale(r);
}

Reference reference_of(const Projections& p, const RowVector<double>& r) {
  const Index n = r.size();
  Reference out;
  out.r = r;
  out.peak = -1;
  for (Index j = 0; j < n; ++j) {
    if (p.is_valid(j) && (out.peak < 0 || r(j) > r(out.peak))) out.peak = j;
  }
  out.peak = std::max<Index>(out.peak, 0);
  double second = kLogZero;
  out.q = RowVector<double>::Zero(n);
  for (Index j = 0; j < n; ++j) {
    if (!p.is_valid(j)) continue;
    out.q(j) = std::exp(r(j) - r(out.peak));
    if (j != out.peak) second = std::max(second, r(j));
  }
  const double sum = out.q.sum();
  if (sum > 0) out.q /= sum;
  out.rest = RowVector<double>::Zero(n);
  if (second == kLogZero) return out;
  for (Index j = 0; j < n; ++j) {
    if (p.is_valid(j) && j != out.peak) out.rest(j) = std::exp(r(j) - second);
  }
  out.log_rest = second - r(out.peak) - std::log(sum);
  return out;
}

ScaledRow mean_of_values(const Projections& p, const ScaledRow& r, const Reference& reference, const ScaledMatrix& v) {
  const Index n = r.value.size();
  const double size = share(r.log, 0);
  RowVector<double> weights = reference.q;
  double log = 0;
  if (p.centred && 2 * size <= 0.5) {  // |r| < 2 size
    double sum = 0;
    double count = 0;
    for (Index j = 0; j < n; ++j) {
      weights(j) = p.is_valid(j) ? r.value(j) * expm1_ratio(size * r.value(j)) : 0.0;
      sum += weights(j);
      count += p.is_valid(j) ? 1 : 0;
    }
    const double mean = sum / count;
    for (Index j = 0; j < n; ++j) {
      if (p.is_valid(j)) weights(j) = (weights(j) - mean) / (count * (1 + size * mean));
    }
    log = r.log;
  }
  return scaled<RowVector<double>>(weights * v.value, log + v.log);
}

RowVector<double> softmax_row(const RowVector<double>& r) {
  RowVector<double> q = (r.array() - r.maxCoeff()).exp();
  return q / q.sum();
}

void close_rows(Matrix<double>& d, Index peak) {
  for (Index i = 0; i < d.rows(); ++i) {
    d(i, peak) = 0;
    d(i, peak) = -d.row(i).sum();
  }
}

ScaledMatrix whole_deviations(ScaledMatrix e, const RowVector<double>& q, const RowVector<double>& r) {
  Index peak = 0;
  q.maxCoeff(&peak);
  for (Index i = 0; i < e.value.rows(); ++i) e.value.row(i).array() -= e.value(i, peak);
  rescale(e);
  const double size = share(e.log, 0);
  const double largest = e.is_zero() ? 0 : size * e.value.cwiseAbs().maxCoeff();
  const bool small = largest <= 0.5;
  for (Index i = 0; i < e.value.rows(); ++i) {
    auto row = e.value.row(i);
    if (size * row.maxCoeff() > 300) {  // e^E leaves the range of double; the difference of softmaxes does not
      const RowVector<double> logits = size * row + r;
      row = softmax_row(logits) - q;
      continue;
    }
    double m = 0;
    for (Index j = 0; j < row.size(); ++j) {
      const double y = size * row(j);
      row(j) = small ? row(j) * expm1_ratio(y) : std::expm1(y);
      if (j != peak) m += q(j) * row(j);
    }
    weigh(q, m, 1 + (small ? size : 1) * m, row);
  }
  close_rows(e.value, peak);
  if (!small) e.log = 0;
  rescale(e);
  return e;
}

ScaledMatrix Deviations::from(Index first, ScaledMatrix e) const {
  for (Index i = 0; i < e.value.rows(); ++i) {
    const double peak = e.value(i, q_.peak);
    for (Index j = 0; j < e.value.cols(); ++j) e.value(i, j) = p_.is_valid(j) ? e.value(i, j) - peak : 0.0;
    if (!p_.is_valid(first + i)) e.value.row(i).setZero();
  }
  rescale(e);
  const double size = share(e.log, 0);
  if (p_.same_keys && 2 * size <= 0.5) {
    for (Index i = 0; i < e.value.rows(); ++i) small_row(size, e.value.row(i));
    e.log += q_.log_rest;
    return e;
  }
  Matrix<double> whole;
  if (p_.whole) {
    whole.resize(e.value.rows(), e.value.cols());
    p_.whole->logits(head_, first, whole);
  }
  // Rows have their own scales.
  std::vector<double> logs(static_cast<std::size_t>(e.value.rows()), kLogZero);
  for (Index i = 0; i < e.value.rows(); ++i) {
    if (!p_.is_valid(first + i)) continue;
    logs[static_cast<std::size_t>(i)] =
        large_row(first + i, size, p_.whole ? whole.row(i).data() : nullptr, e.value.row(i));
  }
  e.log = *std::ranges::max_element(logs);
  for (Index i = 0; i < e.value.rows(); ++i) {
    const double log = logs[static_cast<std::size_t>(i)];
    if (log != e.log) e.value.row(i) *= share(log, e.log);
  }
  return e;
}

void Deviations::small_row(double size, MatrixRow row) const {
  for (Index j = 0; j < row.size(); ++j) row(j) *= expm1_ratio(size * row(j));
  const double m = std::exp(q_.log_rest) * q_.rest.dot(row);
  weigh(q_.rest, m, 1 + size * m, row);
}

// The same where differences are not small, keys that are not seen having e^E = 0. From two softmaxes where e^E could
// leave the range of double, where the peak is not seen, and where the row differs from q altogether, so that nothing
// cancels. Returns the logarithm of the row's scale.
double Deviations::large_row(Index i, double size, const double* whole, MatrixRow row) const {
  constexpr double kLargest = 30;
  constexpr double kAltogether = 0.1;
  row *= size;
  const bool sees_peak = p_.sees(i, q_.peak);
  bool direct = !sees_peak;
  for (Index j = 0; j < row.size(); ++j) direct |= row(j) > kLargest && p_.sees(i, j);
  if (direct) return direct_row(i, sees_peak, whole, row);
  RowVector<double> em(row.size());
  double m = 0;
  double sum = 0;
  double change = 0;
  for (Index j = 0; j < row.size(); ++j) {
    em(j) = p_.sees(i, j) ? std::expm1(row(j)) : -1.0;
    m += q_.rest(j) * em(j);
    sum += q_.rest(j) * (1 + em(j));
    change += q_.rest(j) * std::abs(em(j));
  }
  const double rest = std::exp(q_.log_rest);
  if (whole && rest * change > kAltogether) return direct_row(i, sees_peak, whole, row);
  row = em;
  weigh(q_.rest, rest * m, q_.q(q_.peak) + rest * sum, row);
  return q_.log_rest;
}

// P - q, both in units of the largest entry of either outside the peak. Logits are the whole ones where there are
// any.
double Deviations::direct_row(Index i, bool sees_peak, const double* whole, MatrixRow row) const {
  double largest = kLogZero;
  for (Index j = 0; j < row.size(); ++j) {
    row(j) = !p_.sees(i, j) ? kLogZero : whole ? whole[j] : row(j) + q_.r(j);
    largest = std::max(largest, row(j));
  }
  double sum = 0;
  double unit = sees_peak ? q_.log_rest : 0;
  for (Index j = 0; j < row.size(); ++j) {
    row(j) -= largest;
    sum += std::exp(row(j));
    if (j != q_.peak) unit = std::max(unit, row(j));
  }
  if (unit > -300) unit = 0;
  const double rest = share(q_.log_rest, unit);
  for (Index j = 0; j < row.size(); ++j) row(j) = std::exp(row(j) - unit) / sum - rest * q_.rest(j);
  row(q_.peak) = 0;
  return unit;
}

}  // namespace rankfall
