#include "engine/kernel/closed_attention.h"

#include <algorithm>
#include <cmath>

#include "linalg/gemm.h"

namespace rankfall {
namespace {

// y_ik = e^log (f K_ik + b): what queries and the keys' factor make of K, so that y_ik G_jl is a covariance of logits.
struct QueryTerms {
  double log = kLogZero;
  double factor = 0, bias = 0;
};

QueryTerms query_terms(const Network& network, const Attention& attention) {
  const LinearMoments q = moments_of(network, attention.q);
  const LinearMoments k = moments_of(network, attention.k);
  const double size = attention.scale * attention.scale * static_cast<double>(attention.d_head) * k.factor;
  return {size > 0 ? std::log(size) : kLogZero, q.factor, q.bias};
}

// log of the largest y_ii.
double log_largest(const QueryTerms& y, const Distances& lengths, const Tokens& tokens) {
  double largest = kLogZero;
  for (const Index i : tokens.rows()) largest = std::max(largest, log_length(lengths, i));
  largest += log_or_zero(y.factor);
  const double top = std::max(largest, log_or_zero(y.bias));
  if (top == kLogZero || y.log == kLogZero) return kLogZero;
  return y.log + top + std::log(share(largest, top) + share(log_or_zero(y.bias), top));
}

double log_largest_key(const Gram& k) {
  return k.rest.is_zero() ? kLogZero : k.rest.log + log_or_zero(k.rest.value.diagonal().maxCoeff());
}

// A sum over p of Y^p / p! times something of n x n, entry by entry.
struct Series {
  Matrix<double> power;  // Y^p / p!
  Matrix<double> sum;
  void add(const Matrix<double>& term) { sum.array() += power.array() * term.array(); }
};

Matrix<double> congruence(const Matrix<double>& p, const Matrix<double>& x, const Matrix<double>& q) {
  return product<double>(false, true, product<double>(false, false, p, x), q);
}
Matrix<double> congruence(const Matrix<double>& p, const Matrix<double>& x) { return congruence(p, x, p); }

// y_ik of a matrix of covariances.
Matrix<double> query_covariances(const QueryTerms& terms, const Matrix<double>& k, const Tokens& tokens) {
  Matrix<double> y = Matrix<double>::Zero(k.rows(), k.cols());
  if (terms.log == kLogZero) return y;
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) y(i, j) = std::exp(terms.log) * (terms.factor * k(i, j) + terms.bias);
  }
  return y;
}

// Centred over rows and columns.
Matrix<double> centred(const Matrix<double>& k, const Tokens& tokens) {
  RowVector<double> rows = RowVector<double>::Zero(k.rows());
  RowVector<double> columns = RowVector<double>::Zero(k.cols());
  double all = 0;
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) {
      rows(i) += k(i, j) / tokens.count();
      columns(j) += k(i, j) / tokens.count();
    }
    all += rows(i) / tokens.count();
  }
  Matrix<double> out = Matrix<double>::Zero(k.rows(), k.cols());
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) out(i, j) = k(i, j) - rows(i) - columns(j) + all;
  }
  return out;
}

// The first order in G, which is all there is of it where G is far below the mean.
Gram first_order(const QueryTerms& y, const Gram& k, const Distances& lengths, const Tokens& tokens) {
  Gram out = k;
  const double n = tokens.count();
  const double log = y.log + log_or_zero(y.factor);
  // Y = (f K + b) e^log: only f K differs between queries.
  const double square = k.rest.value.squaredNorm() / (n * n);
  double own = 0;
  for (const Index j : tokens.rows()) own += k.rest.value(j, j) / n;
  double with_cross = 0;
  for (const Index j : tokens.rows()) with_cross += (k.rest.value(j, j) - own) * k.cross.value(j) / n;
  const double rest_log = log + 2 * k.rest.log;
  out.rest.value *= square;
  out.rest.log = k.rest.is_zero() || log == kLogZero ? kLogZero : k.rest.log + rest_log;
  if (out.rest.log == kLogZero) set_zero(out.rest);
  rescale(out.rest);
  out.cross.value *= square;
  out.cross.log = k.cross.is_zero() || k.rest.is_zero() || log == kLogZero ? kLogZero : k.cross.log + rest_log;
  if (out.cross.log == kLogZero) set_zero(out.cross);
  rescale(out.cross);
  if (!lengths.spread.is_zero() && !k.cross.is_zero() && !k.rest.is_zero() && log != kLogZero) {
    add(out.cross, scaled<RowVector<double>>(0.5 * with_cross * lengths.spread.value,
                                             lengths.spread.log + lengths.log + log + k.rest.log + k.cross.log));
  }
  return out;
}

}  // namespace

std::optional<double> closed_error(const Network& network, const Attention& attention, const Gram& k,
                                   const Tokens& tokens) {
  const bool plain_logits = std::holds_alternative<NoPositions>(attention.positions) && !attention.q_norm &&
                            !attention.k_norm && attention.soft_cap == 0;
  if (!plain_logits || !std::holds_alternative<SoftmaxWeights>(attention.weights) || !attention.mask.is_complete()) {
    return std::nullopt;
  }
  const double size =
      std::exp(log_largest(query_terms(network, attention), distances_of(k, tokens), tokens) + log_largest_key(k));
  return size > 0.5 ? 1 + size : 3 * std::expm1(size) / std::max(1.0, tokens.count());
}

Gram closed_mixing(const Network& network, const Attention& attention, const Gram& k, const Tokens& tokens) {
  const Index n = k.n();
  const double count = tokens.count();
  const QueryTerms terms = query_terms(network, attention);
  const Distances lengths = distances_of(k, tokens);
  const double log_key = log_largest_key(k);
  constexpr double kFirstOrder = 1e-8;
  const double log_size = log_largest(terms, lengths, tokens) + log_key;
  if (log_size == kLogZero) return {k.log_mean, zero_gram(n).cross, zero_gram(n).rest};  // all tokens take the mean
  if (log_key - lengths.log < std::log(kFirstOrder) && log_size < std::log(kFirstOrder)) {
    return first_order(terms, k, lengths, tokens);
  }

  // In units of the largest: K of e^lengths.log, G of e^k.rest.log.
  const Matrix<double> whole = plain(k, lengths.log);
  const Matrix<double>& g = k.rest.value;
  const double y_factor = std::exp(terms.log + log_or_zero(terms.factor) + lengths.log + k.rest.log);
  const double y_bias = std::exp(terms.log + log_or_zero(terms.bias) + k.rest.log);
  Matrix<double> y = Matrix<double>::Zero(n, n);
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) y(i, j) = y_factor * whole(i, j) + y_bias;
  }
  // p_ij = softmax over j of y_ii G_jj / 2 = 1/n + off_ij.
  Matrix<double> off = Matrix<double>::Zero(n, n);
  Matrix<double> p = Matrix<double>::Zero(n, n);
  double own = 0;
  for (const Index j : tokens.rows()) own += g(j, j) / count;
  for (const Index i : tokens.rows()) {
    double sum = 0;
    double largest = 0;
    for (const Index j : tokens.rows()) largest = std::max(largest, 0.5 * y(i, i) * (g(j, j) - own));
    const double base = largest > 1 ? largest : 0;  // e^x of large x, where nothing is small
    const double less = std::exp(-base);
    for (const Index j : tokens.rows()) {
      const double x = 0.5 * y(i, i) * (g(j, j) - own);
      off(i, j) = base > 0 ? std::exp(x - base) - less : std::expm1(x);
      sum += off(i, j);
    }
    for (const Index j : tokens.rows()) {
      off(i, j) = (off(i, j) - sum / count) / (count * less + sum);
      p(i, j) = 1 / count + off(i, j);
    }
  }
  // E x_j . x_l less the mean's part, in units of e^lengths.log.
  const double g_share = share(k.rest.log, lengths.log);
  Matrix<double> deviation = plain({kLogZero, k.cross, k.rest}, lengths.log);
  const RowVector<double> cross = k.cross.value * share(k.cross.log, lengths.log);
  const RowVector<double> mixed_cross = cross * off.transpose();
  const Matrix<double> of_rest = congruence(off, g);

  Series above{Matrix<double>::Ones(n, n), Matrix<double>(of_rest * g_share)};
  above.sum.rowwise() += mixed_cross;
  above.sum.colwise() += mixed_cross.transpose();
  Series below{Matrix<double>::Ones(n, n), Matrix<double>::Ones(n, n)};
  Matrix<double> power = g;  // G^p entry by entry
  const double most = y.cwiseAbs().maxCoeff() * g.cwiseAbs().maxCoeff();
  double bound = 1;
  constexpr int kMostTerms = 400;
  for (int order = 1; order < kMostTerms; ++order) {
    above.power.array() *= y.array() / order;
    below.power = above.power;
    above.add(congruence(p, Matrix<double>(power.cwiseProduct(deviation))));
    below.add(order == 1 ? of_rest : congruence(p, power));
    bound *= most / order;
    if (bound < 1e-17 && order > most) break;
    power.array() *= g.array();
  }
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) above.sum(i, j) /= below.sum(i, j);
  }
  Gram out = gram_of(above.sum, tokens);
  if (out.log_mean != kLogZero) out.log_mean += lengths.log;
  if (!out.cross.is_zero()) out.cross.log += lengths.log;
  if (!out.rest.is_zero()) out.rest.log += lengths.log;
  add(out, {k.log_mean, zero_gram(n).cross, zero_gram(n).rest});
  return out;
}

Matrix<double> key_shares(const Network& network, const Attention& attention, const Matrix<double>& k,
                          const Tokens& tokens) {
  const Matrix<double> y = query_covariances(query_terms(network, attention), k, tokens);
  const Matrix<double> c = centred(k, tokens);
  Matrix<double> p = Matrix<double>::Zero(k.rows(), k.cols());
  for (const Index i : tokens.rows()) {
    double largest = kLogZero, sum = 0;
    for (const Index j : tokens.rows()) largest = std::max(largest, 0.5 * y(i, i) * c(j, j));
    for (const Index j : tokens.rows()) {
      p(i, j) = std::exp(0.5 * y(i, i) * c(j, j) - largest);
      sum += p(i, j);
    }
    for (const Index j : tokens.rows()) p(i, j) /= sum;
  }
  return p;
}

Matrix<double> closed_mixing(const Network& network, const Attention& attention, const Matrix<double>& shares_l,
                             const Matrix<double>& shares_m, const Matrix<double>& covariance, const Tokens& tokens) {
  const Matrix<double> y = query_covariances(query_terms(network, attention), covariance, tokens);
  const Matrix<double> c = centred(covariance, tokens);
  Series above{Matrix<double>::Ones(y.rows(), y.cols()), congruence(shares_l, covariance, shares_m)};
  Series below{above.power, Matrix<double>::Zero(y.rows(), y.cols())};
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) below.sum(i, j) = 1;
  }
  const double most = y.cwiseAbs().maxCoeff() * c.cwiseAbs().maxCoeff();
  double bound = 1;
  Matrix<double> power = c;
  constexpr int kMostTerms = 400;
  for (int order = 1; order < kMostTerms && most > 0; ++order) {
    above.power.array() *= y.array() / order;
    below.power = above.power;
    above.add(congruence(shares_l, Matrix<double>(power.cwiseProduct(covariance)), shares_m));
    below.add(congruence(shares_l, power, shares_m));
    bound *= most / order;
    if (bound < 1e-17 && order > most) break;
    power.array() *= c.array();
  }
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) above.sum(i, j) /= below.sum(i, j);
  }
  return above.sum;
}

}  // namespace rankfall
