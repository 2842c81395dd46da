#include "linalg/minimiser.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "linalg/norms.h"
#include "linalg/norms_impl.h"

namespace rankfall {
namespace {

// f = max_j sum_i |X_ij - x_j|, g = max_i sum_j |X_ij - x_j|.
struct Sums {
  RowVector<double> columns, rows;

  double f() const { return columns.maxCoeff(); }
  double g() const { return rows.maxCoeff(); }
};

// An average in which later ones have more weight.
class Average {
 public:
  explicit Average(Index d) : sum_(RowVector<double>::Zero(d)) {}
  void add(const RowVector<double>& x) {
    sum_ += ++round_ * x;
    weight_ += round_;
  }
  RowVector<double> value() const { return sum_ / weight_; }

 private:
  RowVector<double> sum_;
  double round_ = 0, weight_ = 0;
};

// Weights that grow where the loss is large, and stay a probability (multiplicative weights; the rate falls as
// 1/sqrt(round), and losses are measured by their own spread).
class Weights {
 public:
  explicit Weights(Index n)
      : w_(RowVector<double>::Constant(n, 1.0 / static_cast<double>(n))), sum_(w_ * 0), average_(n) {}

  const RowVector<double>& values() const { return w_; }
  // Over all rounds, later ones with more weight: where the game goes to.
  RowVector<double> average() const { return average_.value(); }
  void update(const RowVector<double>& loss) {
    constexpr double kRate = 6;
    average_.add(w_);
    const double spread = loss.maxCoeff() - loss.minCoeff();
    spread_ = std::max(0.7 * spread_, spread);
    if (spread_ == 0) return;
    ++round_;
    sum_ += loss / spread_;
    w_ = (kRate / std::sqrt(round_) * (sum_.array() - sum_.maxCoeff())).exp();
    w_ /= w_.sum();
  }

 private:
  RowVector<double> w_, sum_;
  Average average_;
  double spread_ = 0, round_ = 0;
};

class Game {
 public:
  explicit Game(Matrix<double> x) : x_(std::move(x)), sorted_(x_.cols(), x_.rows()), order_(x_.cols(), x_.rows()) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(n()));
    for (Index j = 0; j < d(); ++j) {
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return x_(i, j); });
      for (Index k = 0; k < n(); ++k) {
        order_(j, k) = order[static_cast<std::size_t>(k)];
        sorted_(j, k) = x_(order_(j, k), j);
      }
    }
  }

  Index n() const { return x_.rows(); }
  Index d() const { return x_.cols(); }
  const Matrix<double>& x() const { return x_; }

  // The x that minimises sum_ij (column_j + row_i) |X_ij - x_j|: weighted medians.
  RowVector<double> response(const RowVector<double>& column, const RowVector<double>& row) const {
    const double rows = row.sum();
    RowVector<double> best(d());
    for (Index j = 0; j < d(); ++j) {
      const double half = (static_cast<double>(n()) * column(j) + rows) / 2;
      double sum = 0;
      Index k = 0;
      for (; k + 1 < n(); ++k) {
        sum += column(j) + row(order_(j, k));
        if (sum >= half) break;
      }
      best(j) = sorted_(j, k);
    }
    return best;
  }

  Sums sums(const RowVector<double>& at) const {
    Sums out{RowVector<double>::Zero(d()), RowVector<double>(n())};
    RowVector<double> row(d());
    for (Index i = 0; i < n(); ++i) {
      row = (x_.row(i) - at).cwiseAbs();
      out.columns += row;
      out.rows(i) = row.sum();
    }
    return out;
  }

  RowVector<double> medians() const { return response(RowVector<double>::Ones(d()), RowVector<double>::Zero(n())); }

 private:
  Matrix<double> x_;
  Matrix<double> sorted_;  // a column of X a row
  Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> order_;
};

// The best point so far of an objective of Sums, improved along lines.
template <class Objective>
class Best {
 public:
  Best(const Game& game, Objective objective, RowVector<double> start)
      : game_(game), objective_(objective), x_(std::move(start)), sums_(game.sums(x_)), value_(objective(sums_)) {}

  double value() const { return value_; }
  const Sums& sums() const { return sums_; }
  const RowVector<double>& x() const { return x_; }

  void offer(const RowVector<double>& x, const Sums& sums) {
    const double value = objective_(sums);
    if (value >= value_) return;
    value_ = value;
    x_ = x;
    sums_ = sums;
  }
  // Golden section between here and there.
  void search(const RowVector<double>& there) {
    constexpr double kGolden = 0.6180339887498949;
    constexpr int kSteps = 8;
    const RowVector<double> from = x_;
    double low = 0;
    double high = 1;
    const auto at = [&](double share) {
      const RowVector<double> x = from + share * (there - from);
      const Sums sums = game_.sums(x);
      offer(x, sums);
      return objective_(sums);
    };
    double left = high - kGolden * (high - low);
    double right = low + kGolden * (high - low);
    double at_left = at(left);
    double at_right = at(right);
    for (int step = 0; step < kSteps; ++step) {
      if (at_left < at_right) {
        high = right;
        right = left;
        at_right = at_left;
        left = high - kGolden * (high - low);
        at_left = at(left);
      } else {
        low = left;
        left = right;
        at_left = at_right;
        right = low + kGolden * (high - low);
        at_right = at(right);
      }
    }
  }
  // The row that is furthest from here.
  RowVector<double> furthest() const {
    Index i = 0;
    sums_.rows.maxCoeff(&i);
    return game_.x().row(i);
  }

 private:
  const Game& game_;
  Objective objective_;
  RowVector<double> x_;
  Sums sums_;
  double value_;
};

// Lines are searched in the first rounds and then every few.
bool is_search_round(Index round) { return round < 4 || round % 8 == 0; }

// Small matrices may have as many rounds as they like.
Index rounds_for(const Game& game, const MinimiserOptions& options) {
  constexpr Index kCheap = 200'000'000;
  return std::max(options.max_rounds, std::min<Index>(100'000, kCheap / (game.n() * game.d())));
}

Minimum minimise_inf(const Game& game, const MinimiserOptions& options) {
  Best best(
      game, [](const Sums& s) { return s.g(); }, game.x().colwise().mean());
  Minimum out{best.value(), 0};
  Weights rows(game.n());
  Average average(game.d());
  const RowVector<double> none = RowVector<double>::Zero(game.d());
  const Index max_rounds = rounds_for(game, options);
  for (Index round = 0; round < max_rounds; ++round) {
    const RowVector<double> x = game.response(none, rows.values());
    const Sums sums = game.sums(x);
    out.lower = std::max(out.lower, rows.values().dot(sums.rows));
    average.add(x);
    best.offer(x, sums);
    rows.update(sums.rows);
    if (is_search_round(round)) {
      best.search(x);
      best.search(average.value());
      best.search(best.furthest());
      const RowVector<double> w = rows.average();
      out.lower = std::max(out.lower, w.dot(game.sums(game.response(none, w)).rows));
    }
    out.value = best.value();
    if (out.gap() <= options.gap) break;
  }
  out.lower = std::min(out.lower, out.value);  // rounding
  return out;
}

Minimum minimise_composite(const Game& game, double least_f, double least_g, const MinimiserOptions& options) {
  Best best(
      game, [](const Sums& s) { return std::sqrt(s.f()) * std::sqrt(s.g()); }, game.x().colwise().mean());
  best.offer(game.medians(), game.sums(game.medians()));
  if (best.value() == 0) return {0, 0};
  const Index max_rounds = rounds_for(game, options);
  Index rounds = 0;
  // A lower bound of h(t) = min_x (t f + g/t)/2, until it reaches `enough`, or the rounds of one t are used up.
  const auto lower_at = [&](double t, double enough) {
    Weights rows(game.n());
    Weights columns(game.d());
    Average average(game.d());
    double lower = 0;
    Best local(
        game, [t](const Sums& s) { return (t * s.f() + s.g() / t) / 2; }, best.x());
    for (Index round = 0; round < max_rounds / 32 && rounds < max_rounds; ++round, ++rounds) {
      const RowVector<double> x = game.response(t * columns.values(), rows.values() / t);
      const Sums sums = game.sums(x);
      lower = std::max(lower, (t * columns.values().dot(sums.columns) + rows.values().dot(sums.rows) / t) / 2);
      average.add(x);
      local.offer(x, sums);
      columns.update(sums.columns);
      rows.update(sums.rows);
      if (is_search_round(round)) {
        local.search(x);
        local.search(average.value());
        local.search(local.furthest());
        const RowVector<double> w = rows.average();
        const RowVector<double> v = columns.average();
        const Sums against = game.sums(game.response(t * v, w / t));
        lower = std::max(lower, (t * v.dot(against.columns) + w.dot(against.rows) / t) / 2);
      }
      if (lower >= enough || lower >= (1 - options.gap / 2) * local.value()) break;
    }
    best.offer(local.x(), local.sums());
    return lower;
  };

  // Outside [low, high] t f/2 or g/(2t) alone is at least the best value.
  const double low = std::log(least_g / (2 * best.value()));
  const double high = std::log(2 * best.value() / least_f);
  std::map<double, double> h;  // lower bounds by log t
  const auto ask = [&](double log_t) { h[log_t] = lower_at(std::exp(log_t), best.value() * (1 + options.gap)); };
  // Where the best point itself has its t, and the ends.
  const double middle = std::log(best.sums().g() / best.sums().f()) / 2;
  for (const double log_t : {middle, low, high}) {
    if (log_t >= low && log_t <= high) ask(log_t);
  }
  // Between neighbours a, b at distance s: h >= sqrt(h_a h_b) e^(-s/2).
  Minimum out;
  while (true) {
    double weakest = std::numeric_limits<double>::infinity();
    double split = 0;
    double width = 0;
    for (auto a = h.begin(); std::next(a) != h.end(); ++a) {
      const auto b = std::next(a);
      const double bound = std::sqrt(a->second * b->second) * std::exp(-(b->first - a->first) / 2);
      if (bound < weakest) {
        weakest = bound;
        split = (a->first + b->first) / 2;
        width = b->first - a->first;
      }
    }
    if (h.size() == 1) weakest = h.begin()->second;
    out = {best.value(), std::min(weakest, best.value())};
    if (out.gap() <= options.gap || rounds >= max_rounds || width < 1e-4) return out;
    ask(split);
  }
}

}  // namespace

template <class T>
MinimisedNorms minimised_norms(const MatrixRef<T>& x, std::span<const std::uint8_t> valid,
                               const MinimiserOptions& options) {
  Matrix<double> r = centred_rows<T>(x, valid);
  MinimisedNorms out;
  const double size = r.size() == 0 ? 0 : r.cwiseAbs().maxCoeff();
  if (size == 0) return out;
  const double frobenius = norms<double>(r).frobenius;
  out.frobenius = {frobenius, frobenius};
  const Game game(r / size);
  const Sums at_medians = game.sums(game.medians());
  const auto scaled = [&](Minimum m) { return Minimum{size * m.value, size * m.lower}; };
  out.one = scaled({at_medians.f(), at_medians.f()});
  const Minimum inf = minimise_inf(game, options);
  out.inf = scaled(inf);
  out.composite = scaled(minimise_composite(game, at_medians.f(), inf.lower, options));
  return out;
}

template MinimisedNorms minimised_norms<float>(const MatrixRef<float>&, std::span<const std::uint8_t>,
                                               const MinimiserOptions&);
template MinimisedNorms minimised_norms<double>(const MatrixRef<double>&, std::span<const std::uint8_t>,
                                                const MinimiserOptions&);

}  // namespace rankfall
