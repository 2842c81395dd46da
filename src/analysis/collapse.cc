#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "analysis/decay.h"
#include "analysis/part_of.h"
#include "analysis/provenance.h"
#include "input/inputs.h"
#include "linalg/blas_info.h"
#include "linalg/norms.h"
#include "model/memory.h"
#include "result/manifest.h"
#include "result/statistics.h"
#include <rankfall/collapse.h>
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/parallel.h>
#include <rankfall/split.h>

namespace rankfall {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The changes by which digits are counted are this many times the rounding of double.
constexpr double kJitterRoundings = 256;
// A change of log10 beyond this is no longer a small one: the value is not carried at all.
constexpr double kLargestChange = 0.1;
constexpr const char* kNotCarried = "not carried by double precision";
constexpr const char* kExactlyZero = "exactly 0";
constexpr const char* kBelowRange = "below 10^(-10^308)";
// A precision is at its end where it is off by more than this in log10.
constexpr double kOff = 0.05;

struct NamedNorm {
  const char* name;
  double LogNorms::*value;
};
constexpr std::array kNorms = {
    NamedNorm{"composite", &LogNorms::composite},
    NamedNorm{"one", &LogNorms::one},
    NamedNorm{"inf", &LogNorms::inf},
    NamedNorm{"frobenius", &LogNorms::frobenius},
    NamedNorm{"spectral", &LogNorms::spectral},
};

// One sample: norms of every state.
using Curve = std::vector<SplitNorms>;

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

// What a plain precision shows, and from which layer on it is rounding; the layer is L + 1 if never.
struct FloatRun {
  const char* kind = "";
  std::vector<Curve> curves;  // empty: it failed
  std::string failure;
  Index rounding_layer = 0;
};

using Value = std::function<double(const Curve&, Index)>;

// Over the samples that have a value: tokens that are equal have no residual, and no logarithm of it.
Statistics over_samples(std::span<const Curve> curves, Index layer, const Value& value) {
  Statistics statistics;
  for (const Curve& curve : curves) {
    const double x = value(curve, layer);
    if (std::isfinite(x)) statistics.add(x);
  }
  return statistics;
}

Value residual_of(double LogNorms::*norm) {
  return [norm](const Curve& curve, Index l) { return curve[static_cast<std::size_t>(l)].residual.*norm; };
}
Value relative_of(double LogNorms::*norm) {
  return [norm](const Curve& curve, Index l) {
    const SplitNorms& norms = curve[static_cast<std::size_t>(l)];
    return norms.residual.*norm - norms.state.*norm;
  };
}

// By state, for one sample.
std::vector<double> series(const Curve& curve, const Value& value) {
  std::vector<double> out;
  for (std::size_t l = 0; l < curve.size(); ++l) out.push_back(value(curve, static_cast<Index>(l)));
  return out;
}
// The mean over samples; -infinity from where a sample that had a value has none.
std::vector<double> mean_series(std::span<const Curve> curves, const Value& value) {
  std::vector<double> out;
  const Index n = over_samples(curves, 0, value).n();
  for (std::size_t l = 0; l < curves[0].size(); ++l) {
    const Statistics statistics = over_samples(curves, static_cast<Index>(l), value);
    const bool all = statistics.n() == n && n > 0;
    out.push_back(all ? statistics.mean().value_or(-INFINITY) : -INFINITY);
  }
  return out;
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

// What double leaves uncertain in log10 of the residual, by sample and state: from the distance between the curves and
// those with jitter. Infinity where nothing is known.
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

// Everything about one variant, as rows.
class Rows {
 public:
  Rows(std::string model, std::string variant, std::vector<Curve> exact, std::vector<FloatRun> floats,
       std::vector<std::vector<double>> errors)
      : model_(std::move(model)),
        variant_(std::move(variant)),
        exact_(std::move(exact)),
        floats_(std::move(floats)),
        errors_(std::move(errors)) {}

  std::vector<Row> make(bool each_sample) {
    for (Index l = 0; l < n_states(); ++l) exact_state(l);
    for (const FloatRun& run : floats_) {
      for (Index l = 0; l < n_states() && !run.curves.empty(); ++l) float_state(run, l);
    }
    for (const FloatRun& run : floats_) rounding(run);
    decay("relative_residual", relative_of(&LogNorms::composite));
    decay("residual", residual_of(&LogNorms::composite));
    for (std::size_t s = 0; s < exact_.size() && each_sample; ++s) {
      for (Index l = 0; l < n_states(); ++l) sample_state(s, l);
    }
    return std::move(rows_);
  }

 private:
  Index n_states() const { return static_cast<Index>(exact_[0].size()); }

  Row& add(std::optional<Index> layer, std::string metric, const char* kind) {
    Row& row = rows_.emplace_back();
    row.model = model_;
    row.variant = variant_;
    row.layer = layer;
    row.metric = std::move(metric);
    row.kind = kind;
    return row;
  }

  void set(Row& row, const Statistics& statistics) const {
    row.mean = statistics.mean();
    row.std = statistics.std();
    row.n = statistics.n();
  }

  // The largest error of all samples; infinity if one is not known.
  double error(Index layer) const {
    double largest = 0;
    for (const auto& errors : errors_) largest = std::max(largest, errors[static_cast<std::size_t>(layer)]);
    return largest;
  }

  // Why a sample has no logarithm there. Logarithms end near -1e308.
  static const char* no_value(const Curve& curve, Index layer) {
    for (Index l = layer; l-- > 0;) {
      const double before = curve[static_cast<std::size_t>(l)].residual.composite;
      if (std::isfinite(before)) return before < -1e300 ? kBelowRange : kExactlyZero;
    }
    return kExactlyZero;
  }

  // What is to be said of the mean at a layer.
  std::string verdict(Index layer, bool has_value) const {
    if (!std::isfinite(error(layer))) return kNotCarried;
    if (!has_value) return no_value(exact_[0], layer);
    std::string verdict;
    for (const FloatRun& run : floats_) {
      if (!run.curves.empty() && layer >= run.rounding_layer) {
        verdict = run.kind == std::string_view("f32") ? "below float32" : "below float64";
      }
    }
    return verdict;
  }

  void exact_state(Index l) {
    const auto put = [&](const char* prefix, const auto& of) {
      for (const NamedNorm& norm : kNorms) {
        Row& row = add(l, fmt::format("{}.{}", prefix, norm.name), "exact");
        set(row, over_samples(exact_, l, of(norm.value)));
        row.verdict = verdict(l, row.mean.has_value());
      }
    };
    put("log10_residual", residual_of);
    put("log10_relative_residual", relative_of);
    const Value residual = residual_of(&LogNorms::composite);
    if (l >= 2) {
      Statistics exponents;
      for (const Curve& curve : exact_) {
        if (const auto exponent = local_exponent(series(curve, residual), l)) exponents.add(*exponent);
      }
      set(add(l, "local_exponent", "exact"), exponents);
    }
    if (l >= 1) {
      const Statistics steps = over_samples(exact_, l, step(residual));
      Row& row = add(l, "growth_factor", "exact");
      row.n = steps.n();
      set_power(row, steps.mean());
    }
    set_error(add(l, "log10_error", "exact"), error(l)).n = static_cast<Index>(exact_.size());
  }

  static Row& set_error(Row& row, double error) {
    if (std::isfinite(error)) {
      row.mean = error;
    } else {
      row.verdict = kNotCarried;
    }
    return row;
  }

  static Value step(const Value& value) {
    return [value](const Curve& curve, Index l) { return value(curve, l) - value(curve, l - 1); };
  }

  // 10^log10_value, or words where no double can hold it.
  static void set_power(Row& row, std::optional<double> log10_value) {
    if (!log10_value) return;
    if (std::abs(*log10_value) < 300) {
      row.mean = std::pow(10, *log10_value);
    } else {
      row.verdict = power_of_ten(*log10_value);
    }
  }

  void float_state(const FloatRun& run, Index l) {
    const auto put = [&](const char* prefix, const auto& of) {
      for (const NamedNorm& norm : kNorms) {
        if (norm.value == &LogNorms::spectral) continue;
        Row& row = add(l, fmt::format("{}.{}", prefix, norm.name), run.kind);
        set(row, over_samples(run.curves, l, of(norm.value)));
        if (l >= run.rounding_layer) row.verdict = row.mean ? "rounding" : "0";
      }
    };
    put("log10_residual", residual_of);
    put("log10_relative_residual", relative_of);
  }

  void rounding(const FloatRun& run) {
    Row& row = add(std::nullopt, "rounding_layer", run.kind);
    if (!run.failure.empty()) {
      row.verdict = "fails: " + run.failure;
    } else if (run.rounding_layer < n_states()) {
      row.mean = static_cast<double>(run.rounding_layer);
    } else {
      row.verdict = "never";
    }
  }

  void decay(const char* kind, const Value& value) {
    std::vector<double> curve = mean_series(exact_, value);
    std::string rest;  // what became of the curve after its end
    for (std::size_t l = 0; l < curve.size() && rest.empty() && std::isfinite(curve[0]); ++l) {
      const Index layer = static_cast<Index>(l);
      if (!std::isfinite(error(layer))) {
        rest = fmt::format("; from layer {} on double precision does not carry it", layer);
        curve.resize(l);
      } else if (!std::isfinite(curve[l]) && l > 0) {
        const bool below =
            std::ranges::any_of(exact_, [&](const Curve& c) { return no_value(c, layer) == kBelowRange; });
        rest = fmt::format("; {} from layer {} on", below ? kBelowRange : kExactlyZero, layer);
        curve.resize(l);
      }
    }
    const Decay decay = decay_of(curve);
    Row& row = add(std::nullopt, "decay", kind);
    if (decay.kind == Decay::Kind::kDoublyExponential) row.mean = local_exponent(curve, decay.last);
    if (decay.kind == Decay::Kind::kExponential) row.mean = std::pow(10, decay.slope);
    row.n = static_cast<Index>(exact_.size());
    row.verdict = decay_words(decay, curve) + rest;
  }

  void sample_state(std::size_t s, Index l) {
    const auto put = [&](std::string metric) -> Row& {
      Row& row = add(l, std::move(metric), "exact");
      row.sample = static_cast<Index>(s);
      return row;
    };
    const double error = errors_[s][static_cast<std::size_t>(l)];
    const auto put_value = [&](std::string metric, std::optional<double> value) {
      Row& row = put(std::move(metric));
      if (!value) return;
      if (std::isfinite(*value)) row.mean = value;
      if (!std::isfinite(error)) {
        row.verdict = kNotCarried;
      } else if (!row.mean) {
        row.verdict = no_value(exact_[s], l);
      }
    };
    for (const NamedNorm& norm : kNorms) {
      put_value(fmt::format("log10_residual.{}", norm.name), residual_of(norm.value)(exact_[s], l));
    }
    for (const NamedNorm& norm : kNorms) {
      put_value(fmt::format("log10_relative_residual.{}", norm.name), relative_of(norm.value)(exact_[s], l));
    }
    const Value residual = residual_of(&LogNorms::composite);
    if (l >= 2) put_value("local_exponent", local_exponent(series(exact_[s], residual), l));
    if (l >= 1) {
      const double change = step(residual)(exact_[s], l);
      set_power(put("growth_factor"), std::isfinite(change) ? std::optional(change) : std::nullopt);
    }
    set_error(put("log10_error"), error);
  }

  std::string model_, variant_;
  std::vector<Curve> exact_;
  std::vector<FloatRun> floats_;
  std::vector<std::vector<double>> errors_;  // by sample and state
  std::vector<Row> rows_;
};

std::vector<Row> collapse_variant(const Model& model, const Variant& variant, std::span<const Sample> samples,
                                  const CollapseOptions& options, const Progress& progress) {
  const Network network = apply(variant, model.network);
  const WeightSource& weights = *model.weights;
  // Shares of the time, roughly.
  const auto part = [&](double first, double size) { return part_of(progress, first, 1, "", size); };
  const double exact_share = options.floats ? 0.34 : 0.5;
  try {
    auto exact = exact_curves(network, weights, samples, 0, part(0, exact_share));
    const auto jittered =
        exact_curves(network, weights, samples, kJitterRoundings * std::numeric_limits<double>::epsilon(),
                     part(exact_share, exact_share));
    auto errors = errors_of(exact, jittered);
    std::vector<FloatRun> floats;
    if (options.floats) {
      floats.push_back(float_run<float>("f32", network, weights, samples, exact, part(0.68, 0.1)));
      floats.push_back(float_run<double>("f64", network, weights, samples, exact, part(0.78, 0.22)));
    }
    return Rows(model.name, variant.name, std::move(exact), std::move(floats), std::move(errors))
        .make(options.each_sample);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}, variant {}: {}", model.name, variant.name, error.what()));
  }
}

std::vector<Variant> variants_of(const CollapseOptions& options) {
  return options.variants.empty() ? paper_variants(false) : options.variants;
}

Manifest manifest_of(const CollapseOptions& options) {
  Manifest manifest = base_manifest();
  add(manifest, "precision", "f64, mean and residual apart");
  add(manifest, "threads", std::int64_t{threads()});
  add(manifest, "blas", blas_description());
  add(manifest, "residual", "about the token mean");
  std::vector<std::string> names;
  for (const Variant& variant : variants_of(options)) names.push_back(variant.name);
  add(manifest, "variants", names);
  return manifest;
}

void check_size(const Model& model, const CollapseOptions& options, const InputSize& size) {
  for (const Variant& variant : variants_of(options)) {
    MemoryPlan plan;
    plan.n_samples = size.n_samples;
    plan.n_tokens = size.n_tokens;
    plan.scalar_bytes = sizeof(double);
    plan.drawn = model.drawn;
    check_memory(apply(variant, model.network), plan);
  }
}

// Samples of one token have no residual, and are in no mean.
std::vector<std::string> notes_on(std::span<const Sample> samples) {
  const auto is_single = [](const Sample& sample) {
    return sample.valid.empty() ? sample.n_tokens() == 1 : std::ranges::count(sample.valid, 1) == 1;
  };
  const auto n = std::ranges::count_if(samples, is_single);
  if (n == 0) return {};
  return {fmt::format("{} of {} samples have one token only: they have no residual, and are left out of means", n,
                      samples.size())};
}

void add_rows(const Model& model, std::span<const Sample> samples, const CollapseOptions& options, double first,
              double count, Result& result) {
  if (samples.empty()) throw Error(ErrorKind::kUsage, "no samples");
  for (const Variant& variant : variants_of(options)) {
    const Progress progress = part_of(options.progress, first++, count, model.name + " " + variant.name);
    auto rows = collapse_variant(model, variant, samples, options, progress);
    std::ranges::move(rows, std::back_inserter(result.rows));
  }
}

}  // namespace

Result collapse(const Model& model, std::span<const Sample> samples, const CollapseOptions& options) {
  Result result{"collapse", manifest_of(options), {}};
  check_size(model, options, size_of(samples));
  add_rows(model, samples, options, 0, static_cast<double>(variants_of(options).size()), result);
  return result;
}

Result collapse(std::span<const std::string> models, const CollapseOptions& options) {
  if (models.empty()) throw Error(ErrorKind::kUsage, "no model given");
  Result result{"collapse", manifest_of(options), {}};
  add(result.manifest, "seed", options.seed);
  if (options.depth) add(result.manifest, "depth", std::int64_t{*options.depth});

  // What can be refused is refused before the first long computation.
  struct Job {
    Model model;
    Inputs inputs;
  };
  std::vector<Job> jobs;
  Provenance provenance;
  for (const std::string& spec : models) {
    if (std::ranges::find(jobs, spec, [](const Job& job) { return job.model.name; }) != jobs.end()) {
      throw Error(ErrorKind::kUsage, fmt::format("model '{}' is given twice", spec));
    }
    Job job;
    job.model = options.depth ? open_model(spec, options.seed, *options.depth) : open_model(spec, options.seed);
    const Network& network = job.model.network;
    if (!options.input.from_file()) check_size(job.model, options, random_size(network, options.input));
    job.inputs = open_inputs(network, input_for(job.model, options.input), options.seed);
    const InputSize size = size_of(job.inputs.samples);
    check_size(job.model, options, size);
    provenance.add(job.model, job.inputs.source, size);
    provenance.add_notes(job.inputs.notes);
    provenance.add_notes(notes_on(job.inputs.samples));
    jobs.push_back(std::move(job));
  }
  provenance.write(result.manifest);
  const double per_model = static_cast<double>(variants_of(options).size());
  for (std::size_t m = 0; m < jobs.size(); ++m) {
    add_rows(jobs[m].model, jobs[m].inputs.samples, options, static_cast<double>(m) * per_model,
             static_cast<double>(jobs.size()) * per_model, result);
  }
  return result;
}

}  // namespace rankfall
