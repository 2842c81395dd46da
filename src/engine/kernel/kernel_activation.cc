#include "engine/kernel/kernel_activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "base/errors.h"
#include "base/parallel.h"
#include "engine/split/split_activation.h"

namespace rankfall {
namespace {

constexpr double kPi = std::numbers::pi;

// D_ij - (s_i - s_j)^2 = 2 s_i s_j (1 - rho), not negative.
ScaledMatrix across_of(const Distances& x, const Tokens& tokens) {
  const Index n = x.squared.value.rows();
  const RowVector<double> relative = relative_lengths(x, tokens);
  ScaledMatrix along{Matrix<double>::Zero(n, n), 2 * x.spread.log + x.log};
  if (!x.spread.is_zero()) {
    for (const Index i : tokens.rows()) {
      for (const Index j : tokens.rows()) {
        const double sum = relative(i) + relative(j);
        const double difference = sum == 0 ? 0 : (x.spread.value(i) - x.spread.value(j)) / sum;
        along.value(i, j) = difference * difference;
      }
    }
  }
  rescale(along);
  ScaledMatrix out = x.squared;
  add(out, 1, along, -1);
  out.value = out.value.cwiseMax(0);
  rescale(out);
  return out;
}

// The mean of values and what remains, as Distances has them; values are relative to e^log.
void set_lengths(const RowVector<double>& values, double log, const Tokens& tokens, Distances& out) {
  const Index first = tokens.rows().front();
  double mean = 0;
  for (const Index i : tokens.rows()) mean += (values(i) - values(first)) / tokens.count();
  mean += values(first);
  out.log = mean > 0 ? log + std::log(mean) : kLogZero;
  RowVector<double> spread = RowVector<double>::Zero(values.size());
  if (mean > 0) {
    for (const Index i : tokens.rows()) spread(i) = (values(i) - mean) / mean;
  }
  out.spread = scaled<RowVector<double>>(spread);
}

// Everything about f(s z), z normal, for one s.
struct Expansion {
  std::vector<double> a;  // of normed Hermite polynomials
  double square = 0;      // E f^2
  double slope = 0;       // s d/ds E f^2 = 2 E f f' s z
  double turn = 0;        // s^2 E (z f')^2
  double tail = 0;        // E f^2 beyond the last a
  double tail_order = 0;  // the mean k there
};

// Coefficients of GELU fall like (s^2 / (1 + s^2))^(k/2), those of SiLU and tanh about as fast.
std::size_t n_terms(double s) { return static_cast<std::size_t>(std::clamp(40 + 30 * s * s, 64.0, 2048.0)); }

Expansion expansion_of(Activation act, double s) {
  // The trapezoidal rule, which is exact beyond all powers of the step for smooth functions on the whole line.
  constexpr double kEnd = 12.5;
  const double step = std::clamp(0.2 / s, kEnd / 2500, 0.04);
  const auto n = static_cast<Index>(std::ceil(kEnd / step));
  using Array = Eigen::ArrayXd;
  const Array z = Array::LinSpaced(2 * n + 1, -step * static_cast<double>(n), step * static_cast<double>(n));
  const Array weight = step / std::sqrt(2 * kPi) * (-0.5 * z.square()).exp();
  const Array f = z.unaryExpr([&](double x) { return divided_difference(act, 0, s * x) * s * x; });
  const Array df = z.unaryExpr([&](double x) { return divided_difference(act, s * x, 0) * s; });
  Expansion out;
  out.square = (weight * f.square()).sum();
  out.slope = 2 * (weight * f * df * z).sum();
  out.turn = (weight * (z * df).square()).sum();
  const double derivative = (weight * df.square()).sum();
  // h_k times the root of the weight, which no k takes out of range.
  const Array root = weight.sqrt();
  const Array values = f * root;
  Array before = Array::Zero(z.size());
  Array h = root;
  Array next(z.size());
  double square = out.square;
  double rest = derivative;
  const std::size_t most = n_terms(s);
  for (std::size_t k = 0; k < most; ++k) {
    const double a = (values * h).sum();
    const auto order = static_cast<double>(k);
    out.a.push_back(a);
    square -= a * a;
    rest -= order * a * a;
    if (rest < 1e-13 * derivative && k > 1) break;
    next = (z * h - std::sqrt(order) * before) / std::sqrt(order + 1);
    before.swap(h);
    h.swap(next);
  }
  if (square > 1e-14 * out.square && rest > 1e-13 * derivative) {
    out.tail = square;
    out.tail_order = std::max(rest / square, static_cast<double>(out.a.size()));
  }
  return out;
}

// The expansions of all tokens, of lengths in this unit; tokens whose lengths are the same to so much share one.
class Expansions {
 public:
  Expansions(Activation act, double unit, const RowVector<double>& lengths, const Tokens& tokens, double same)
      : places_(static_cast<std::size_t>(lengths.size()), 0) {
    std::vector<double> s;
    for (const Index i : tokens.rows()) {
      const double own = lengths(i);
      std::size_t place = 0;
      while (place < s.size() && std::abs(s[place] - own) > same * own) ++place;
      if (place == s.size()) s.push_back(own);
      places_[static_cast<std::size_t>(i)] = place;
    }
    of_.resize(s.size());
    parallel_for(std::ssize(s), [&](Index k) {
      const auto p = static_cast<std::size_t>(k);
      of_[p] = expansion_of(act, unit * s[p]);
    });
    lengths_ = std::move(s);
  }

  const Expansion& of(Index i) const { return of_[places_[static_cast<std::size_t>(i)]]; }
  bool is_one() const { return of_.size() == 1; }
  // The length that the expansion of token i is for.
  double length(Index i) const { return lengths_[places_[static_cast<std::size_t>(i)]]; }

 private:
  std::vector<std::size_t> places_;
  std::vector<Expansion> of_;
  std::vector<double> lengths_;
};

// sum of (a_k(s_i) - a_k(s_j))^2, by the slope where s_i and s_j nearly agree; `difference` is (s_i - s_j) / s_i.
double turned(const Expansion& x, const Expansion& y, double difference) {
  if (std::abs(difference) < 1e-6 || &x == &y) return difference * difference * x.turn;
  double sum = 0;
  for (std::size_t k = 0; k < std::max(x.a.size(), y.a.size()); ++k) {
    const double d = (k < x.a.size() ? x.a[k] : 0) - (k < y.a.size() ? y.a[k] : 0);
    sum += d * d;
  }
  const double roots = std::sqrt(x.tail) - std::sqrt(y.tail);
  return sum + roots * roots;
}

// sum of 2 a_k b_k (1 - rho^k), over 1 - rho = eta where that is small.
double across(const Expansion& x, const Expansion& y, double eta, bool divided) {
  const double rho = 1 - eta;
  double power = divided ? 1 : eta;  // (1 - rho^k), or over eta
  double of_power = rho;             // rho^k
  double sum = 0;
  for (std::size_t k = 1; k < std::min(x.a.size(), y.a.size()); ++k) {
    sum += 2 * x.a[k] * y.a[k] * power;
    power += divided ? of_power : of_power * eta;
    of_power *= rho;
  }
  const double tail = std::sqrt(x.tail * y.tail);
  if (tail == 0) return sum;
  const double order = 0.5 * (x.tail_order + y.tail_order);
  const double whole = rho <= 0 ? 1 : -std::expm1(order * std::log1p(-eta));
  return sum + 2 * tail * (divided ? (eta < 1e-12 ? order : whole / eta) : whole);
}

Distances rectified(const Distances& x, const Tokens& tokens) {
  Distances out{x.log - std::numbers::ln2, x.spread, x.squared};
  if (x.log == kLogZero) out.log = kLogZero;
  const RowVector<double> lengths = relative_lengths(x, tokens);
  const ScaledMatrix flat = across_of(x, tokens);
  // (s_i - s_j)^2 / 2 + s_i s_j ((1 - cos t) - (sin t - t cos t) / pi), 1 - cos t = across / (2 s_i s_j).
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) {
      const double product = lengths(i) * lengths(j);
      const double less_one = product == 0 ? 0 : flat.value(i, j) * share(flat.log, x.log) / (2 * product);
      const double t = 2 * std::asin(std::sqrt(std::clamp(0.5 * less_one, 0.0, 1.0)));
      // (sin t - t cos t) / (1 - cos t)
      const double ratio = t < 1e-3 ? 2 * t / 3 * (1 - t * t / 60)
                                    : (std::sin(t) - t * std::cos(t)) / (2 * std::pow(std::sin(t / 2), 2));
      const double of_flat = flat.value(i, j) * 0.5 * (1 - ratio / kPi);
      const double along = x.squared.value(i, j) - flat.value(i, j) * share(flat.log, x.squared.log);
      out.squared.value(i, j) = of_flat * share(flat.log, x.squared.log) + 0.5 * std::max(0.0, along);
    }
  }
  rescale(out.squared);
  return out;
}

}  // namespace

Distances activated(Activation act, const Distances& x, const Tokens& tokens) {
  if (tokens.rows().empty() || act == Activation::kIdentity || x.log == kLogZero) return x;
  if (act == Activation::kRelu) return rectified(x, tokens);
  // f(x) is f'(0) x where x is small.
  if (x.log < -300) {
    Distances out = x;
    const double slope = divided_difference(act, 0, 0);
    out.log += 2 * std::log(slope);
    if (!out.squared.is_zero()) out.squared.log += 2 * std::log(slope);
    return out;
  }
  if (x.log > 300) throw numerical_error("activations leave the range of double");
  const Index n = x.squared.value.rows();
  const RowVector<double> lengths = relative_lengths(x, tokens);
  constexpr double kSame = 1e-7;  // the rest by the slope
  const Expansions expansions(act, std::exp(0.5 * x.log), lengths, tokens, kSame);

  Distances out{kLogZero, {RowVector<double>::Zero(n), kLogZero}, {Matrix<double>::Zero(n, n), kLogZero}};
  if (expansions.is_one()) {  // lengths differ by so little that a line does
    const Expansion& one = expansions.of(tokens.rows().front());
    out.log = std::log(one.square);
    out.spread = x.spread;
    out.spread.value *= 0.5 * one.slope / one.square;
    rescale(out.spread);
  } else {
    RowVector<double> squares = RowVector<double>::Zero(n);
    for (const Index i : tokens.rows()) {
      const Expansion& own = expansions.of(i);
      const double off = lengths(i) / expansions.length(i) - 1;
      squares(i) = own.square + own.slope * off;
    }
    set_lengths(squares, 0, tokens, out);
  }

  // D' = along + across, each in units of its own scale.
  const ScaledMatrix flat = across_of(x, tokens);
  const double flat_share = share(flat.log, x.log);
  const double spread_share = share(x.spread.log, 0);
  ScaledMatrix along{Matrix<double>::Zero(n, n), expansions.is_one() ? 2 * x.spread.log : 0};
  ScaledMatrix over{Matrix<double>::Zero(n, n), flat.log - x.log};
  if (x.spread.is_zero()) along.log = kLogZero;
  if (flat.is_zero()) over.log = kLogZero;
  const Index count = std::ssize(tokens.rows());
  parallel_for(count, [&](Index row) {
    const Index i = tokens.rows()[static_cast<std::size_t>(row)];
    for (Index column = 0; column < row; ++column) {
      const Index j = tokens.rows()[static_cast<std::size_t>(column)];
      const Expansion& a = expansions.of(i);
      const Expansion& b = expansions.of(j);
      const double sum = lengths(i) + lengths(j);
      if (!x.spread.is_zero()) {
        const double difference = (x.spread.value(i) - x.spread.value(j)) / (sum * lengths(i));
        along.value(i, j) =
            expansions.is_one() ? difference * difference * a.turn : turned(a, b, difference * spread_share);
      }
      const double product = lengths(i) * lengths(j);
      if (flat.is_zero() || product == 0) continue;
      const double part = flat.value(i, j) / (2 * product);  // 1 - rho in units of e^(flat.log - x.log)
      over.value(i, j) = part * across(a, b, part * flat_share, true);
    }
  });
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) {
      if (i > j) along.value(j, i) = along.value(i, j);
      if (i > j) over.value(j, i) = over.value(i, j);
    }
  }
  rescale(along);
  rescale(over);
  out.squared = std::move(over);
  add(out.squared, along);
  return out;
}

// --- joint activations
// -------------------------------------------------------------------------------------------------

struct JointActivation::Held {
  Activation act;
  RowVector<double> lengths;
  std::optional<Expansions> expansions;
};

JointActivation::JointActivation(Activation act, const RowVector<double>& variances, const Tokens& tokens)
    : held_(std::make_unique<Held>(Held{act, variances.cwiseMax(0).cwiseSqrt(), {}})), tokens_(tokens) {
  if (act == Activation::kIdentity || act == Activation::kRelu || tokens.rows().empty()) return;
  if (held_->lengths.maxCoeff() > std::exp(150.0)) throw numerical_error("activations leave the range of double");
  constexpr double kSame = 1e-14;
  held_->expansions.emplace(act, 1.0, held_->lengths.cwiseMax(std::exp(-150.0)), tokens, kSame);
}
JointActivation::JointActivation(JointActivation&&) noexcept = default;
JointActivation::~JointActivation() = default;

Matrix<double> JointActivation::with(const JointActivation& other, const Matrix<double>& covariance) const {
  const Held& x = *held_;
  const Held& y = *other.held_;
  if (x.act == Activation::kIdentity) return covariance;
  Matrix<double> out = Matrix<double>::Zero(covariance.rows(), covariance.cols());
  parallel_for(std::ssize(tokens_.rows()), [&](Index row) {
    const Index i = tokens_.rows()[static_cast<std::size_t>(row)];
    for (const Index j : tokens_.rows()) {
      const double product = x.lengths(i) * y.lengths(j);
      const double rho = product == 0 ? 0 : std::clamp(covariance(i, j) / product, -1.0, 1.0);
      if (x.act == Activation::kRelu) {
        const double angle = std::acos(rho);
        out(i, j) = product / (2 * kPi) * (std::sin(angle) + (kPi - angle) * rho);
        continue;
      }
      const Expansion& a = x.expansions->of(i);
      const Expansion& b = y.expansions->of(j);
      double power = 1;
      for (std::size_t k = 0; k < std::min(a.a.size(), b.a.size()); ++k) {
        out(i, j) += a.a[k] * b.a[k] * power;
        power *= rho;
      }
      const double tail = std::sqrt(a.tail * b.tail);
      if (tail > 0 && rho > 0) out(i, j) += tail * std::pow(rho, 0.5 * (a.tail_order + b.tail_order));
    }
  });
  return out;
}

Matrix<double> JointActivation::slopes_with(const JointActivation& other, const Matrix<double>& covariance) const {
  const Held& x = *held_;
  const Held& y = *other.held_;
  Matrix<double> out = Matrix<double>::Zero(covariance.rows(), covariance.cols());
  parallel_for(std::ssize(tokens_.rows()), [&](Index row) {
    const Index i = tokens_.rows()[static_cast<std::size_t>(row)];
    for (const Index j : tokens_.rows()) {
      if (x.act == Activation::kIdentity) {
        out(i, j) = 1;
        continue;
      }
      const double product = x.lengths(i) * y.lengths(j);
      const double rho = product == 0 ? 0 : std::clamp(covariance(i, j) / product, -1.0, 1.0);
      if (x.act == Activation::kRelu) {
        out(i, j) = (kPi - std::acos(rho)) / (2 * kPi);
        continue;
      }
      const Expansion& a = x.expansions->of(i);
      const Expansion& b = y.expansions->of(j);
      double power = 1;
      double sum = 0;
      for (std::size_t k = 1; k < std::min(a.a.size(), b.a.size()); ++k) {
        sum += static_cast<double>(k) * a.a[k] * b.a[k] * power;
        power *= rho;
      }
      const double tail = std::sqrt(a.tail * b.tail);
      const double order = 0.5 * (a.tail_order + b.tail_order);
      if (tail > 0 && rho > 0) sum += tail * order * std::pow(rho, order - 1);
      out(i, j) = sum / (x.expansions->length(i) * y.expansions->length(j));
    }
  });
  return out;
}

// With x_ij = (x_ii + x_jj - D_x) / 2 and likewise y,
//   D = (x_ii - x_jj)(y_ii - y_jj) / 2 + (x_ii + x_jj) D_y / 2 + (y_ii + y_jj) D_x / 2 - D_x D_y / 2.
Distances product_of(const Distances& x, const Distances& y, const Tokens& tokens) {
  const Index n = x.squared.value.rows();
  Distances out{kLogZero, {RowVector<double>::Zero(n), kLogZero}, {Matrix<double>::Zero(n, n), kLogZero}};
  if (tokens.rows().empty() || x.log == kLogZero || y.log == kLogZero) return out;
  const auto at = [](const ScaledRow& of, Index i) { return of.is_zero() ? 0.0 : of.value(i); };
  const double x_share = share(x.spread.log, 0), y_share = share(y.spread.log, 0);

  // (1 + a)(1 + b) = 1 + (a + b) + a b.
  ScaledRow spread = x.spread;
  add(spread, y.spread);
  ScaledRow both{RowVector<double>::Zero(n), x.spread.log + y.spread.log};
  for (const Index i : tokens.rows()) both.value(i) = at(x.spread, i) * at(y.spread, i);
  if (x.spread.is_zero() || y.spread.is_zero()) set_zero(both);
  rescale(both);
  add(spread, both);
  double mean = 0;
  for (const Index i : tokens.rows()) mean += at(spread, i) / tokens.count();
  for (const Index i : tokens.rows()) spread.value(i) -= mean;
  const double off = 1 + mean * share(spread.log, 0);
  spread.value /= off;
  rescale(spread);
  out.spread = std::move(spread);
  out.log = x.log + y.log + std::log(off);

  ScaledMatrix lengths{Matrix<double>::Zero(n, n), x.spread.log + y.spread.log + x.log + y.log};
  ScaledMatrix of_x{Matrix<double>::Zero(n, n), x.squared.log + y.log};
  ScaledMatrix of_y{Matrix<double>::Zero(n, n), y.squared.log + x.log};
  if (x.spread.is_zero() || y.spread.is_zero()) lengths.log = kLogZero;
  if (x.squared.is_zero()) of_x.log = kLogZero;
  if (y.squared.is_zero()) of_y.log = kLogZero;
  const double y_size = share(y.squared.log, y.log);
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) {
      const double xi = at(x.spread, i), xj = at(x.spread, j), yi = at(y.spread, i), yj = at(y.spread, j);
      lengths.value(i, j) = 0.5 * (xi - xj) * (yi - yj);
      of_y.value(i, j) = y.squared.value(i, j) * (1 + 0.5 * x_share * (xi + xj));
      of_x.value(i, j) = x.squared.value(i, j) * (1 + 0.5 * y_share * (yi + yj) - 0.5 * y.squared.value(i, j) * y_size);
    }
  }
  rescale(lengths);
  rescale(of_x);
  rescale(of_y);
  out.squared = std::move(of_x);
  add(out.squared, of_y);
  add(out.squared, lengths);
  return out;
}

}  // namespace rankfall
