#include "engine/kernel/kernel_norm.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace rankfall {

// With s_i^2 = K_ii + eps:  D' = (D - (s_i - s_j)^2 (1 + eps / (s_i s_j))) / (s_i s_j),  K'_ii = 1 - eps / s_i^2.
Gram normalised(double eps, const Gram& k, const Tokens& tokens) {
  const Index n = k.n();
  if (tokens.rows().empty()) return k;
  const Distances x = distances_of(k, tokens);
  const double log_eps = eps > 0 ? std::log(eps) : kLogZero;
  const double unit = std::max(x.log, log_eps);
  if (unit == kLogZero)
    throw numerical_error("norm of tokens that are zero, with eps = 0: there is nothing to divide by");
  const double e = share(log_eps, unit);

  // s_i in units of e^(unit / 2), and (s_i - s_j) in units of that times e^spread.log.
  const double length_share = share(x.log, unit);
  const double spread_share = share(x.spread.log, 0);
  const auto spread = [&](Index i) { return x.spread.is_zero() ? 0.0 : x.spread.value(i); };
  RowVector<double> s = RowVector<double>::Zero(n);
  for (const Index i : tokens.rows()) {
    const double square = length_share * std::max(0.0, 1 + spread(i) * spread_share) + e;
    if (square == 0) throw numerical_error("norm of a token that is zero, with eps = 0: there is nothing to divide by");
    s(i) = std::sqrt(square);
  }
  Distances out{0, {RowVector<double>::Zero(n), kLogZero}, x.squared};
  ScaledMatrix along{Matrix<double>::Zero(n, n), x.spread.is_zero() ? kLogZero : 2 * x.spread.log};
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) {
      const double product = s(i) * s(j);
      const double difference = (spread(i) - spread(j)) * length_share / (s(i) + s(j));
      along.value(i, j) = difference * difference * (1 + e / product) / product;
      out.squared.value(i, j) /= product;
    }
  }
  if (!out.squared.is_zero()) out.squared.log -= unit;
  rescale(along);
  rescale(out.squared);
  add(out.squared, 1, along, -1);
  out.squared.value = out.squared.value.cwiseMax(0);
  rescale(out.squared);

  // 1 - e / s_i^2 = K_ii / s_i^2.
  double mean = 0;
  RowVector<double> lengths = RowVector<double>::Zero(n);
  RowVector<double> change = RowVector<double>::Zero(n);  // of e / s_i^2, in units of e^spread.log
  const Index first = tokens.rows().front();
  for (const Index i : tokens.rows()) {
    lengths(i) = length_share * std::max(0.0, 1 + spread(i) * spread_share) / (s(i) * s(i));
    change(i) = e * length_share * (spread(i) - spread(first)) / (s(i) * s(i) * s(first) * s(first));
    mean += lengths(i) / tokens.count();
  }
  double of_change = 0;
  for (const Index i : tokens.rows()) of_change += change(i) / tokens.count();
  for (const Index i : tokens.rows()) change(i) = mean > 0 ? (change(i) - of_change) / mean : 0;
  out.log = mean > 0 ? std::log(mean) : kLogZero;
  if (!x.spread.is_zero()) out.spread = scaled<RowVector<double>>(change, x.spread.log);
  return gram_of(out, tokens);
}

Gram without_channel_means(Gram k, const RowVector<double>& means, const Tokens& tokens) {
  const Index n = k.n();
  double mean = 0;
  RowVector<double> rest = RowVector<double>::Zero(n);
  for (const Index i : tokens.rows()) mean += means(i) / tokens.count();
  for (const Index i : tokens.rows()) rest(i) = means(i) - mean;
  if (mean != 0 && k.log_mean != kLogZero) {
    const double left = 1 - std::exp(2 * std::log(std::abs(mean)) - k.log_mean);
    k.log_mean = left > 0 ? k.log_mean + std::log(left) : kLogZero;
  }
  add(k.cross, 1, scaled<RowVector<double>>(rest), -mean);
  add(k.rest, 1, scaled<Matrix<double>>(rest.transpose() * rest), -1);
  return k;
}

}  // namespace rankfall
