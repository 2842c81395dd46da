#include "analysis/collapse_curves.h"

#include <cmath>
#include <limits>
#include <memory>

#include "analysis/part_of.h"
#include "linalg/norms.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>

namespace rankfall {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The changes by which digits are counted are this many times the rounding of double.
constexpr double kJitterRoundings = 256;
// A change of log10 beyond this is no longer a small one: the value is not carried at all.
constexpr double kLargestChange = 0.1;
// A precision is at its end where it is off by more than this in log10.
constexpr double kOff = 0.05;

class ExactObserver final : public SplitObserver {
 public:
  ExactObserver(std::span<const std::uint8_t> valid, double jitter) : valid_(valid), jitter_(jitter) {}
  void hidden(Index, const SplitState& x) override { curve.push_back(split_norms(x, valid_, jitter_ == 0)); }
  double jitter() const override { return jitter_; }
  Curve curve;

 private:
  std::span<const std::uint8_t> valid_;
  double jitter_;
};

template <class T>
class FloatObserver final : public Observer<T> {
 public:
  explicit FloatObserver(std::span<const std::uint8_t> valid) : valid_(valid) {}
  Needs needs() const override {
    Needs needs;
    needs.hidden = true;
    return needs;
  }
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

template <class O>
std::vector<Curve> curves_of(std::vector<std::unique_ptr<O>>& observers) {
  std::vector<Curve> curves;
  curves.reserve(observers.size());
  for (auto& observer : observers) curves.push_back(std::move(observer->curve));
  return curves;
}

std::vector<Curve> exact_curves(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                                double jitter, const Progress& progress) {
  std::vector<std::unique_ptr<ExactObserver>> observers;
  std::vector<SplitObserver*> pointers;
  for (const Sample& sample : samples) {
    observers.push_back(std::make_unique<ExactObserver>(sample.valid, jitter));
    pointers.push_back(observers.back().get());
  }
  track(network, weights, samples, pointers, {.progress = progress});
  return curves_of(observers);
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
  return curves_of(observers);
}

// The first layer at which the mean distance of its log10 from the truth is above kOff.
Index rounding_layer(std::span<const Curve> seen, std::span<const Curve> exact) {
  const Index n_states = static_cast<Index>(exact[0].size());
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

std::vector<std::vector<double>> errors_of(std::span<const Curve> exact, std::span<const Curve> jittered) {
  std::vector<std::vector<double>> errors(exact.size(), std::vector<double>(exact[0].size(), 0));
  for (std::size_t s = 0; s < exact.size(); ++s) {
    for (std::size_t l = 0; l < exact[s].size(); ++l) {
      const double truth = exact[s][l].residual.composite;
      if (truth == jittered[s][l].residual.composite) continue;
      const double change = std::abs(truth - jittered[s][l].residual.composite);
      const bool known = change <= kLargestChange + 1e-8 * std::abs(truth);
      errors[s][l] = known ? change / kJitterRoundings : INFINITY;
    }
  }
  return errors;
}

}  // namespace

CollapseCurves collapse_curves(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                               bool floats, const Progress& progress) {
  // Shares of the time, roughly.
  const auto part = [&](double first, double size) { return part_of(progress, first, 1, "", size); };
  const double exact_share = floats ? 0.34 : 0.5;
  CollapseCurves curves;
  curves.exact = exact_curves(network, weights, samples, 0, part(0, exact_share));
  const double jitter = kJitterRoundings * std::numeric_limits<double>::epsilon();
  curves.errors =
      errors_of(curves.exact, exact_curves(network, weights, samples, jitter, part(exact_share, exact_share)));
  if (floats) {
    curves.floats.push_back(float_run<float>("f32", network, weights, samples, curves.exact, part(0.68, 0.1)));
    curves.floats.push_back(float_run<double>("f64", network, weights, samples, curves.exact, part(0.78, 0.22)));
  }
  return curves;
}

}  // namespace rankfall
