#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/errors.h"
#include "engine/gradient/kernel_gradient.h"
#include "engine/kernel/carried.h"
#include "engine/kernel/shared_kernel.h"
#include "result/manifest.h"
#include "result/statistics.h"
#include "studies/collapse/decay.h"
#include "studies/driver.h"
#include "studies/model_grid.h"
#include "studies/part_of.h"
#include "studies/theory/comparison.h"
#include "studies/theory/theory_observer.h"
#include "view/view.h"
#include <rankfall/theory.h>

namespace rankfall {
namespace {

// The states' metrics of every sample and chain; one chain if nothing had to be drawn.
struct Predictions {
  KernelRun run;
  Index n_samples = 0, n_chains = 1;
  std::vector<std::unique_ptr<TheoryObserver>> observers;  // [sample * n_chains + chain]

  double at(Index sample, Index chain, Index state, std::size_t metric) const {
    return observers[static_cast<std::size_t>(sample * n_chains + chain)]->value(state, metric);
  }
};

constexpr Index kStateDraws = 8;  // of each sample, over all chains

KernelOptions kernel_options(const TheoryOptions& options, std::uint64_t seed) {
  KernelOptions out;
  out.seed = seed;
  if (options.method == TheoryMethod::kSampled) out.closed_below = -1;
  return out;
}

// Throws away what it did and says so, when an attention turns out to need draws in a pass without chains.
Predictions predict(const StudyRun& run, const std::vector<TheoryMetric>& metrics, const TheoryOptions& options,
                    std::uint64_t seed) {
  KernelOptions kernel = kernel_options(options, seed);
  const auto pass = [&](Index n_chains, const Progress& progress) {
    Predictions out{{}, std::ssize(run.samples), n_chains, {}};
    kernel.draws = (options.draws + n_chains - 1) / n_chains;
    std::vector<KernelObserver*> pointers;
    for (const Sample& sample : run.samples) {
      for (Index chain = 0; chain < n_chains; ++chain) {
        const Index n_draws = std::max<Index>(1, kStateDraws / n_chains);
        // As far as possible the same draws whatever the number of chains, so that what is closed and what is sampled
        // can be compared.
        const Index first_draw = std::ssize(out.observers) / n_chains * kStateDraws + chain * n_draws;
        out.observers.push_back(
            std::make_unique<TheoryObserver>(metrics, run.network, sample, seed, first_draw, n_draws));
        pointers.push_back(out.observers.back().get());
      }
    }
    out.run = run_kernel(run.network, run.samples, n_chains, pointers, kernel, progress);
    return out;
  };
  // The first pass, of one chain with as few draws as there can be, only finds out whether any are needed.
  if (options.method == TheoryMethod::kAuto && !needs_draws(run.network)) {
    const Index draws = std::exchange(kernel.draws, 1);
    Predictions closed = pass(1, run.progress);
    if (!closed.run.sampled) return closed;
    kernel.draws = draws;
  }
  return pass(options.chains, run.progress);
}

// log10 of the relative residual below which a state in plain numbers is rounding.
constexpr double kFloor = -14;

std::vector<Row> rows_of(const Predictions& of, const std::vector<TheoryMetric>& metrics, Index first, Index n_states) {
  const char* kind = of.run.sampled ? "sampled" : "closed";
  const auto log_residual = std::ranges::find(metrics, "log10_relative_residual.composite", &TheoryMetric::name);
  const auto at_floor = static_cast<std::size_t>(log_residual - metrics.begin());
  std::vector<Row> rows;
  for (Index state = first; state < n_states; ++state) {
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      Statistics samples;
      std::vector<Statistics> chains(static_cast<std::size_t>(of.n_chains));
      bool floor = true, is_zero = true, rounded = true;
      for (Index s = 0; s < of.n_samples; ++s) {
        Statistics of_sample;
        for (Index c = 0; c < of.n_chains; ++c) {
          const double value = of.at(s, c, state, m);
          is_zero = is_zero && of.at(s, c, state, at_floor) == kLogZero;
          floor = floor && of.at(s, c, state, at_floor) < kFloor;
          rounded = rounded && of.at(s, c, state, at_floor) < of.run.floor;
          if (!std::isfinite(value)) continue;
          of_sample.add(value);
          chains[static_cast<std::size_t>(c)].add(value);
        }
        if (of_sample.n() > 0) samples.add(*of_sample.mean());
      }
      Row& row = rows.emplace_back(Row{.layer = state, .metric = metrics[m].name, .kind = kind});
      set(row, samples);
      const bool is_norm = metrics[m].is_log10() || metrics[m].name.find("residual.") != std::string::npos;
      if (is_zero && is_norm) {
        set_status(row, Status::kExactlyZero, "exactly 0");
      } else if (is_norm && row.mean == 0) {
        row.mean.reset();
        row.std.reset();
        set_status(row, Status::kOutOfRange, "below the range of double; see log10_relative_residual");
      } else if (metrics[m].name != "cosine.mean" && (rounded || (!is_norm && floor))) {
        set_rounding_floor(row);
      }
      if (!of.run.sampled) continue;
      Statistics over_chains;
      for (const Statistics& chain : chains) {
        if (chain.n() > 0) over_chains.add(*chain.mean());
      }
      if (!over_chains.std()) continue;
      Row& error = rows.emplace_back(Row{.layer = state, .metric = "standard_error." + metrics[m].name, .kind = kind});
      error.mean = *over_chains.std() / std::sqrt(static_cast<double>(over_chains.n()));
      error.n = over_chains.n();
    }
  }
  return rows;
}

Row refusal(const NotCarried& reason) {
  Row row{.metric = "theory"};
  row.reason = reason.reason;
  set_status(row, Status::kNotCarried,
             fmt::format("theory does not carry {}: {}", reason.where, reason_words(reason.reason)));
  return row;
}

// A gradient of all samples in one block.
struct GradientCell {
  Statistics samples;
  std::vector<Statistics> chains;
  bool is_zero = true;  // in all of them
};

GradientCell gradient_cell(std::span<const PredictedGradients> all, std::size_t n_chains, std::size_t block,
                           double PredictedGradients::Block::*log) {
  GradientCell out{{}, std::vector<Statistics>(n_chains)};
  for (std::size_t first = 0; first < all.size(); first += n_chains) {
    Statistics of_sample;
    for (std::size_t c = 0; c < n_chains; ++c) {
      const double value = all[first + c].blocks[block].*log;
      out.is_zero = out.is_zero && value == kLogZero;
      of_sample.add(std::exp(value));
      out.chains[c].add(std::exp(value));
    }
    if (of_sample.mean()) out.samples.add(*of_sample.mean());
  }
  return out;
}

// Of the gradients that are asked for, in the states from `first` on. A block's are those of the state behind it.
std::vector<Row> gradient_rows(const StudyRun& run, const std::vector<std::size_t>& asked, const TheoryOptions& options,
                               std::uint64_t seed, Index first, Index n_states) {
  if (const auto reason = kernel_gradient_not_carried(run.network)) {
    Row row = refusal(*reason);
    row.kind = "gradient";
    return {row};
  }
  KernelOptions kernel = kernel_options(options, seed);
  kernel.draws = (options.draws + options.chains - 1) / options.chains;
  const auto n_chains = static_cast<std::size_t>(options.chains);
  const auto predicted = predicted_gradients(run.network, run.samples, options.chains, kernel, run.progress);
  const bool sampled = std::ranges::any_of(predicted, &PredictedGradients::sampled);
  const char* kind = sampled ? "sampled" : "closed";
  std::vector<Row> rows;
  for (Index state = std::max<Index>(first, 1); state < n_states; ++state) {
    const auto block = static_cast<std::size_t>(state - 1);
    if (!predicted[0].blocks[block].has_attention) continue;
    for (const std::size_t m : asked) {
      const std::string_view name = all_metrics()[m].name;
      const GradientCell cell = gradient_cell(predicted, n_chains, block,
                                              name == "gradient.W_Q"   ? &PredictedGradients::Block::log_q
                                              : name == "gradient.W_K" ? &PredictedGradients::Block::log_k
                                                                       : &PredictedGradients::Block::log_v);
      Row& row = rows.emplace_back(Row{.layer = state, .metric = std::string(name), .kind = kind});
      set(row, cell.samples);
      if (cell.is_zero) {
        set_status(row, Status::kExactlyZero, "exactly 0");
      } else if (row.mean == 0) {
        row.mean.reset();
        row.std.reset();
        set_status(row, Status::kOutOfRange, "below the range of double");
      }
      if (!sampled) continue;
      Statistics over_chains;
      for (const Statistics& chain : cell.chains) over_chains.add(chain.mean().value_or(0));
      if (!over_chains.std()) continue;
      Row& error =
          rows.emplace_back(Row{.layer = state, .metric = fmt::format("standard_error.{}", name), .kind = kind});
      error.mean = *over_chains.std() / std::sqrt(static_cast<double>(over_chains.n()));
      error.n = over_chains.n();
    }
  }
  return rows;
}

// The law of a metric of log10.
Row decay_row(const Predictions& of, const std::vector<TheoryMetric>& metrics, Index n_states, const char* kind,
              std::string_view metric) {
  const auto m = static_cast<std::size_t>(std::ranges::find(metrics, metric, &TheoryMetric::name) - metrics.begin());
  std::vector<double> mean(static_cast<std::size_t>(n_states), 0.0);
  std::vector<std::vector<double>> samples;
  for (Index s = 0; s < of.n_samples; ++s) {
    std::vector<double>& curve = samples.emplace_back();
    for (Index state = 0; state < n_states; ++state) {
      double value = 0;
      for (Index c = 0; c < of.n_chains; ++c) value += of.at(s, c, state, m) / static_cast<double>(of.n_chains);
      curve.push_back(value);
      mean[static_cast<std::size_t>(state)] += value / static_cast<double>(of.n_samples);
    }
  }
  std::size_t length = 0;
  while (length < mean.size() && std::isfinite(mean[length]) && mean[length] > of.run.floor) ++length;
  mean.resize(length);
  const Decay decay = decay_of(mean, samples);
  Row row{.metric = "decay", .kind = kind};
  if (decay.law == Status::kExponential) row.mean = std::pow(10, decay.slope);
  if (decay.law == Status::kDoublyExponential) row.mean = local_exponent(mean, decay.last);
  row.n = of.n_samples;
  set_status(row, decay.law, decay_words(decay, mean));
  return row;
}

void check_kernel_memory(const Network& network, const MemoryPlan& plan, const TheoryOptions& options) {
  const double n = static_cast<double>(plan.n_tokens);
  const double chains = static_cast<double>(plan.n_samples * options.chains);
  // States, and what an attention has in flight: some thirty matrices of tokens by tokens, heads included.
  const double heads = static_cast<double>(std::max<Index>(network.sizes.n_heads, 1));
  const double in_flight = n * n * (30 + 4 * heads) + n * static_cast<double>(network.sizes.d_model) * 6;
  const double state = shares_weights(network) ? shared_kernel_size(network, plan.n_tokens, options.draws) : 3 * n * n;
  // Gradients go backwards over what enters all sub-layers.
  const bool gradients = std::ranges::any_of(
      named_metrics(options.metrics), [](std::size_t m) { return all_metrics()[m].kind == MetricKind::kGradient; });
  const double kept = gradients ? n * n * static_cast<double>(network.layers.size()) : 0;
  check_memory(sizeof(double) * (chains * state + static_cast<double>(threads()) * (2 * in_flight + kept)),
               fmt::format("theory of {} samples of {} tokens", plan.n_samples, plan.n_tokens),
               "take fewer tokens or samples");
}

Study theory_study(const TheoryOptions& options, std::uint64_t seed) {
  if (options.chains < 2) throw usage_error("{} chains, expected at least two", options.chains);
  if (options.draws < 1) throw usage_error("{} draws, expected at least one", options.draws);
  if (options.n_seeds < 1) throw usage_error("{} seeds, expected at least one", options.n_seeds);
  Study study;
  study.name = "theory";
  study.precision = "f64, expectation over weights";
  study.variants = variants_or_paper(options.variants);
  const auto metrics = std::make_shared<const std::vector<TheoryMetric>>(theory_metrics(options.metrics));
  add(study.manifest, "draws", std::int64_t{options.draws});
  add(study.manifest, "chains", std::int64_t{options.chains});
  study.progress = options.progress;
  study.check = [&options](const Model& model, const Network& network, const MemoryPlan& plan) {
    const Index n_states = network.sizes.n_blocks + 1;
    if (options.at && (*options.at >= n_states || *options.at < -n_states)) {
      throw usage_error("{}: state {}, expected 0 to {}", model.name, *options.at, n_states - 1);
    }
    check_kernel_memory(network, plan, options);
  };
  std::vector<std::size_t> gradients = named_metrics(options.metrics);
  std::erase_if(gradients, [](std::size_t m) { return all_metrics()[m].kind != MetricKind::kGradient; });
  study.rows = [&options, metrics, gradients, seed](const StudyRun& run) {
    if (const auto reason = not_carried(run.network)) {
      return std::vector<Row>{refusal(*reason)};
    }
    const Predictions predictions = predict(run, *metrics, options, seed);
    const Index n_states = run.network.sizes.n_blocks + 1;
    Index first = 0, end = n_states;
    if (options.at) {
      first = *options.at < 0 ? n_states + *options.at : *options.at;
      end = first + 1;
    }
    std::vector<Row> rows = rows_of(predictions, *metrics, first, end);
    if (!gradients.empty()) {
      std::ranges::move(gradient_rows(run, gradients, options, seed, first, end), std::back_inserter(rows));
    }
    rows.push_back(
        decay_row(predictions, *metrics, n_states, "relative_residual", "log10_relative_residual.composite"));
    rows.push_back(decay_row(predictions, *metrics, n_states, "residual", "log10_residual.composite"));
    return rows;
  };
  return study;
}

}  // namespace

Result theory(const Model& model, std::span<const Sample> samples, const TheoryOptions& options) {
  return run_study(theory_study(options, options.seed), model, samples);
}

Result theory(std::span<const std::string> texts, const TheoryOptions& options) {
  TheoryOptions own = options;
  const auto [models, grid] = models_of_grids(texts);
  const bool is_grid = models.size() > texts.size();
  if (is_grid && !own.at) own.at = -1;
  if (is_grid && own.variants.empty()) own.variants = {variant_named("full")};
  if (!own.input.is_given() && !own.input.n_samples) own.input.n_samples = is_grid ? 1 : 4;
  if (own.compare) own.progress = part_of(options.progress, 0, 2, "theory");
  Study study = theory_study(own, own.seed);
  if (grid) add(study.manifest, "grid", grid->text);
  Result result = run_study(study, models, {own.input, own.seed, {}, own.depth});
  if (!own.compare) return result;
  own.progress = part_of(options.progress, 1, 2, "measurement");
  add(result.manifest, "compared_seeds", std::int64_t{own.n_seeds});
  add_comparison(models, own, result);
  return result;
}

}  // namespace rankfall
