#include "engine/kernel/gram.h"

#include <algorithm>
#include <cmath>

#include "base/dcheck.h"
#include "engine/split/split.h"
#include "linalg/gemm.h"
#include "linalg/norms_impl.h"

namespace rankfall {
namespace {

// Moves the means of the rest into cross and mean, so that sums are zero.
void recentre(Gram& k, const Tokens& tokens) {
  const Index n = k.n();
  Matrix<double>& g = k.rest.value;
  RowVector<double> rows = RowVector<double>::Zero(n);
  double all = 0;
  // About the first token: equal tokens leave nothing.
  const Index origin = tokens.rows().front();
  for (const Index i : tokens.rows()) {
    double sum = 0;
    for (const Index j : tokens.rows()) sum += g(i, j) - g(i, origin);
    rows(i) = g(i, origin) + sum / tokens.count();
  }
  for (const Index i : tokens.rows()) all += (rows(i) - rows(origin)) / tokens.count();
  all += rows(origin);
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) g(i, j) = ((g(i, j) - rows(i)) - (rows(j) - all));
  }
  // Symmetric to the last bit.
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) {
      if (j < i) g(i, j) = g(j, i);
    }
  }
  const double log = k.rest.log;
  rescale(k.rest);
  RowVector<double> shift = RowVector<double>::Zero(n);
  for (const Index i : tokens.rows()) shift(i) = rows(i) - all;
  add(k.cross, scaled<RowVector<double>>(shift, log));
  double of_cross = 0;
  for (const Index i : tokens.rows()) of_cross += k.cross.value(i) / tokens.count();
  if (of_cross != 0) {
    for (const Index i : tokens.rows()) k.cross.value(i) -= of_cross;
  }
  const double cross_log = k.cross.log;
  rescale(k.cross);
  // m += all + 2 of_cross, which may be negative and is never more than m.
  const double top = std::max({k.log_mean, all == 0 ? kLogZero : log, of_cross == 0 ? kLogZero : cross_log});
  if (top == kLogZero) return;
  const double mean = share(k.log_mean, top) + (all == 0 ? 0 : all * share(log, top)) +
                      (of_cross == 0 ? 0 : 2 * of_cross * share(cross_log, top));
  k.log_mean = mean > 0 ? top + std::log(mean) : kLogZero;
}

}  // namespace

Tokens::Tokens(Index n, std::span<const std::uint8_t> valid) : rows_(valid_rows(n, valid)) {}

Gram zero_gram(Index n) {
  return {kLogZero, {RowVector<double>::Zero(n), kLogZero}, {Matrix<double>::Zero(n, n), kLogZero}};
}

Gram gram_of(const MatrixRef<double>& k, const Tokens& tokens) {
  Gram out = zero_gram(k.rows());
  if (tokens.rows().empty()) return out;
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) out.rest.value(i, j) = k(i, j);
  }
  out.rest.log = 0;
  rescale(out.rest);
  recentre(out, tokens);
  return out;
}

Gram gram_of(const SplitState& x, const Tokens& tokens) {
  const Index n = x.residual.value.rows();
  Gram out = zero_gram(n);
  if (tokens.rows().empty()) return out;
  out.log_mean = x.mean.is_zero() ? kLogZero : 2 * x.mean.log + log_or_zero(x.mean.value.squaredNorm());
  if (!x.residual.is_zero()) {
    gemm<double>(false, true, 1.0, x.residual.value, x.residual.value, 0.0, out.rest.value);
    out.rest.log = 2 * x.residual.log;
    rescale(out.rest);
    if (!x.mean.is_zero()) {
      out.cross = scaled<RowVector<double>>(x.mean.value * x.residual.value.transpose(), x.mean.log + x.residual.log);
    }
  }
  recentre(out, tokens);
  return out;
}

SplitState factor_of(const Gram& k, const Tokens& tokens, std::span<const std::uint8_t> valid) {
  const Index n = k.n();
  SplitState x{{RowVector<double>::Zero(n + 1), kLogZero}, {Matrix<double>::Zero(n, n + 1), kLogZero}};
  if (k.log_mean != kLogZero) {
    x.mean.value(0) = 1;
    x.mean.log = k.log_mean / 2;
    rescale(x.mean);
  }
  // What is along the mean: c / sqrt(m). With rounding it may be more than the whole.
  ScaledMatrix rest = k.rest;
  ScaledRow along = k.log_mean == kLogZero ? ScaledRow{RowVector<double>::Zero(n), kLogZero} : k.cross;
  if (!along.is_zero()) {
    along.log -= k.log_mean / 2;
    add(rest, scaled<Matrix<double>>(-along.value.transpose() * along.value, 2 * along.log));
  }
  Matrix<double> lower = Matrix<double>::Zero(n, n);
  double largest = 0;
  for (const Index i : tokens.rows()) largest = std::max(largest, rest.value(i, i));
  const double least = 4 * tokens.count() * std::numeric_limits<double>::epsilon() * largest;
  for (const Index j : tokens.rows()) {
    const double pivot = rest.value(j, j) - lower.row(j).head(j).squaredNorm();
    if (!(pivot > least)) continue;  // depends on those before it: their columns hold all of it
    const double root = std::sqrt(pivot);
    lower(j, j) = root;
    for (const Index i : tokens.rows()) {
      if (i > j) lower(i, j) = (rest.value(i, j) - lower.row(i).head(j).dot(lower.row(j).head(j))) / root;
    }
  }
  x.residual.value.rightCols(n) = lower;
  x.residual.log = rest.is_zero() ? kLogZero : rest.log / 2;
  rescale(x.residual);
  if (!along.is_zero()) {
    ScaledMatrix part{Matrix<double>::Zero(n, n + 1), along.log};
    part.value.col(0) = along.value.transpose();
    rescale(part);
    add(x.residual, part);
  }
  recentre(x, valid);
  return x;
}

void scale(Gram& k, double factor) {
  RANKFALL_DCHECK(factor >= 0);
  const double log = log_or_zero(factor);
  if (log == kLogZero) {
    k = zero_gram(k.n());
    return;
  }
  if (k.log_mean != kLogZero) k.log_mean += log;
  if (!k.cross.is_zero()) k.cross.log += log;
  if (!k.rest.is_zero()) k.rest.log += log;
}

void add(Gram& k, const Gram& y) {
  k.log_mean = log_sum(k.log_mean, y.log_mean);
  add(k.cross, y.cross);
  add(k.rest, y.rest);
}

void add_bias(Gram& k, double variance) { k.log_mean = log_sum(k.log_mean, log_or_zero(variance)); }

Matrix<double> plain(const Gram& k, double log) {
  Matrix<double> out = k.rest.value * share(k.rest.log, log);
  const RowVector<double> cross = k.cross.value * share(k.cross.log, log);
  out.rowwise() += cross;
  out.colwise() += cross.transpose();
  out.array() += share(k.log_mean, log);
  return out;
}

Distances distances_of(const Gram& k, const Tokens& tokens) {
  const Index n = k.n();
  Distances out{kLogZero, {RowVector<double>::Zero(n), kLogZero}, {Matrix<double>::Zero(n, n), kLogZero}};
  if (tokens.rows().empty()) return out;
  const Matrix<double>& g = k.rest.value;
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) out.squared.value(i, j) = std::max(0.0, g(i, i) + g(j, j) - 2 * g(i, j));
  }
  out.squared.log = k.rest.log;
  rescale(out.squared);
  double mean = 0;
  for (const Index i : tokens.rows()) mean += g(i, i) / tokens.count();
  out.log = log_sum(k.log_mean, k.rest.is_zero() ? kLogZero : k.rest.log + log_or_zero(mean));
  if (out.log == kLogZero) return out;
  RowVector<double> own = RowVector<double>::Zero(n);
  for (const Index i : tokens.rows()) own(i) = g(i, i) - mean;
  out.spread = scaled<RowVector<double>>(own, k.rest.log - out.log);
  if (k.rest.is_zero()) set_zero(out.spread);
  ScaledRow cross = k.cross;
  if (!cross.is_zero()) cross.log -= out.log;
  add(out.spread, 1, cross, 2);
  return out;
}

Gram gram_of(const Distances& x, const Tokens& tokens) {
  const Index n = x.squared.value.rows();
  Gram out = zero_gram(n);
  if (tokens.rows().empty()) return out;
  out.rest = {-0.5 * x.squared.value, x.squared.log};
  recentre(out, tokens);
  // The means of -D/2 are no part of K: its diagonal says what they are.
  double mean = 0;
  for (const Index i : tokens.rows()) mean += out.rest.value(i, i) / tokens.count();
  RowVector<double> own = RowVector<double>::Zero(n);
  for (const Index i : tokens.rows()) own(i) = out.rest.value(i, i) - mean;
  out.cross = scaled<RowVector<double>>(0.5 * x.spread.value, x.spread.log + x.log);
  if (x.spread.is_zero() || x.log == kLogZero) set_zero(out.cross);
  if (!out.rest.is_zero()) add(out.cross, 1, scaled<RowVector<double>>(own, out.rest.log), -0.5);
  const double part = out.rest.is_zero() ? kLogZero : out.rest.log + log_or_zero(mean) - x.log;
  out.log_mean = x.log == kLogZero || part >= 0 ? kLogZero : x.log + std::log1p(-std::exp(part));
  return out;
}

double log_length(const Distances& x, Index i) {
  const double spread = x.spread.is_zero() ? 0 : x.spread.value(i) * share(x.spread.log, 0);
  return spread <= -1 ? kLogZero : x.log + std::log1p(spread);
}

RowVector<double> relative_lengths(const Distances& x, const Tokens& tokens) {
  RowVector<double> out = RowVector<double>::Zero(x.spread.value.size());
  for (const Index i : tokens.rows()) out(i) = std::exp(0.5 * (log_length(x, i) - x.log));
  return out;
}

}  // namespace rankfall
