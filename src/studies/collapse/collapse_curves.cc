#include "studies/collapse/collapse_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "base/mapped.h"
#include "linalg/norms.h"
#include "studies/part_of.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>

namespace rankfall {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The changes by which digits are counted are this many times the rounding of double.
constexpr double kJitterRoundings = 256;
// The stated error in responses to jitter, and what it is at least, in roundings of the value itself and of the norm:
// chosen so that true errors of random networks lie below it (tests/studies/collapse_errors_test.cc).
constexpr double kSafety = 4;
constexpr double kOwnRoundings = 3 * std::numeric_limits<double>::epsilon();
constexpr double kNormRoundings = std::numeric_limits<double>::epsilon();
// A change of log10 beyond this is no longer a small one: the value is not carried at all.
constexpr double kLargestChange = 0.1;
// Below, logarithms themselves leave the range of double, at one layer or the next.
constexpr double kEndOfRange = -1e300;
// A precision is at its end where it is off by more than this in log10.
constexpr double kOff = 0.05;

// With jitter of the given draw, or without.
class ExactObserver final : public SplitObserver {
 public:
  ExactObserver(std::span<const std::uint8_t> valid, std::optional<std::uint64_t> draw) : valid_(valid), draw_(draw) {}
  void hidden(Index, const SplitState& x) override { curve.push_back(split_norms(x, valid_, true)); }
  double jitter() const override { return draw_ ? kJitterRoundings * std::numeric_limits<double>::epsilon() : 0; }
  std::uint64_t jitter_draw() const override { return draw_.value_or(0); }
  Curve curve;

 private:
  std::span<const std::uint8_t> valid_;
  std::optional<std::uint64_t> draw_;
};

template <class T>
class FloatObserver final : public Observer<T> {
 public:
  explicit FloatObserver(std::span<const std::uint8_t> valid) : valid_(valid) {}
  Needs needs() const override { return {.hidden = true}; }
  void hidden(Index, const MatrixRef<T>& x) override {
    const CentredNorms norms = centred_norms<T>(x, valid_);
    const auto logs = [](const Norms& n) {
      return LogNorms{std::log10(n.composite()), std::log10(n.one), std::log10(n.inf), std::log10(n.frobenius), kNaN};
    };
    curve.push_back({logs(norms.residual), logs(norms.state)});
  }
  Curve curve;

 private:
  std::span<const std::uint8_t> valid_;
};

std::vector<Curve> exact_curves(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                                std::optional<std::uint64_t> draw, const Progress& progress) {
  std::vector<std::unique_ptr<ExactObserver>> observers;
  std::vector<SplitObserver*> pointers;
  for (const Sample& sample : samples) {
    observers.push_back(std::make_unique<ExactObserver>(sample.valid, draw));
    pointers.push_back(observers.back().get());
  }
  track(network, weights, samples, pointers, {.progress = progress});
  return mapped<Curve>(observers, [](const auto& observer) { return std::move(observer->curve); });
}

template <class T>
std::vector<Curve> float_curves(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                                const Progress& progress) {
  std::vector<std::unique_ptr<FloatObserver<T>>> observers;
  std::vector<Observer<T>*> pointers;
  for (const Sample& sample : samples) {
    observers.push_back(std::make_unique<FloatObserver<T>>(sample.valid));
    pointers.push_back(observers.back().get());
  }
  forward<T>(network, weights, samples, pointers, {.progress = progress});
  return mapped<Curve>(observers, [](const auto& observer) { return std::move(observer->curve); });
}

// The first layer at which the mean distance of its log10 from the truth is above kOff.
Index rounding_layer(std::span<const Curve> seen, std::span<const Curve> exact) {
  const Index n_states = std::ssize(exact[0]);
  for (Index l = 0; l < n_states; ++l) {
    double off = 0;
    for (std::size_t s = 0; s < exact.size(); ++s) {
      const auto i = static_cast<std::size_t>(l);
      const double mine = seen[s][i].residual.composite;
      const double truth = exact[s][i].residual.composite;
      if (mine != truth) off += std::abs(mine - truth) / static_cast<double>(exact.size());
    }
    if (!(off <= kOff)) return l;
  }
  return n_states;
}

template <class T>
FloatRun float_run(const char* kind, const Network& network, const WeightSource& weights,
                   std::span<const Sample> samples, std::span<const Curve> exact, const Progress& progress) {
  FloatRun run;
  run.kind = kind;
  try {
    run.curves = float_curves<T>(network, weights, samples, progress);
    run.rounding_layer = rounding_layer(run.curves, exact);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNumerical) throw;
    run.failure = error.what();
  }
  return run;
}

// The values of a state whose digits are counted.
struct ErrorValue {
  double LogNorms::*norm;
  bool relative;
  double operator()(const SplitNorms& norms) const {
    const double residual = norms.residual.*norm;
    return relative && std::isfinite(residual) ? residual - norms.state.*norm : residual;
  }
};

// What the draws of jitter say of one value: the root mean square of its changes, in roundings; infinity where a change
// is not small.
double response(double truth, std::span<const double> jittered) {
  double length = 0;
  for (const double value : jittered) {
    if (value == truth) continue;  // also where both are -infinity
    if (value < kEndOfRange && truth < kEndOfRange) continue;
    const double change = std::abs(value - truth);
    if (!(change <= kLargestChange + 1e-8 * std::abs(truth))) return INFINITY;
    length = std::hypot(length, change);  // changes may be as large as 1e290
  }
  return length / std::sqrt(static_cast<double>(jittered.size())) / kJitterRoundings;
}

double state_error(std::size_t s, std::size_t l, std::span<const Curve> exact,
                   std::span<const std::vector<Curve>> draws) {
  double largest = 0;
  for (const auto norm :
       {&LogNorms::composite, &LogNorms::one, &LogNorms::inf, &LogNorms::frobenius, &LogNorms::spectral}) {
    for (const bool relative : {false, true}) {
      const ErrorValue value{norm, relative};
      const double truth = value(exact[s][l]);
      std::vector<double> jittered;
      for (const std::vector<Curve>& curves : draws) jittered.push_back(value(curves[s][l]));
      double error = kSafety * response(truth, jittered);
      if (std::isfinite(truth)) error += kOwnRoundings * std::abs(truth) + kNormRoundings;
      largest = std::max(largest, error);
    }
  }
  return largest;
}

std::vector<std::vector<double>> errors_of(std::span<const Curve> exact, std::span<const std::vector<Curve>> draws) {
  std::vector<std::vector<double>> errors(exact.size());
  for (std::size_t s = 0; s < exact.size(); ++s) {
    double largest = 0;
    for (std::size_t l = 0; l < exact[s].size(); ++l) {
      largest = std::max(largest, state_error(s, l, exact, draws));
      errors[s].push_back(largest);
    }
  }
  return errors;
}

}  // namespace

CollapseCurves collapse_curves(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                               bool floats, Index error_draws, const Progress& progress) {
  // Shares of the time, roughly: an exact pass takes as long as both plain ones.
  const double pass = 1.0 / static_cast<double>(1 + error_draws + (floats ? 1 : 0));
  double done = 0;
  const auto part = [&](double size) {
    Progress out = part_of(progress, done, 1, "", size);
    done += size;
    return out;
  };
  CollapseCurves curves;
  curves.exact = exact_curves(network, weights, samples, {}, part(pass));
  std::vector<std::vector<Curve>> draws;
  for (Index draw = 0; draw < error_draws; ++draw) {
    draws.push_back(exact_curves(network, weights, samples, static_cast<std::uint64_t>(draw), part(pass)));
  }
  curves.errors = errors_of(curves.exact, draws);
  if (floats) {
    curves.floats.push_back(float_run<float>("f32", network, weights, samples, curves.exact, part(0.3 * pass)));
    curves.floats.push_back(float_run<double>("f64", network, weights, samples, curves.exact, part(0.7 * pass)));
  }
  return curves;
}

}  // namespace rankfall
