#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "engine/gradient/gradient.h"
#include "result/manifest.h"
#include "result/statistics.h"
#include "studies/driver.h"
#include "studies/measure/measure_observer.h"
#include "studies/measure/metrics.h"
#include "view/view.h"
#include <rankfall/forward.h>
#include <rankfall/measure.h>
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

// Statistics of one (layer, head, metric) cell; the order of cells is the order of rows.
struct MeasureCell {
  Index layer = 0;
  std::optional<Index> head;
  std::size_t metric = 0;
  std::string_view floor_by;  // Metric::floor_by, as far as it holds for this network; empty: none
  Statistics statistics;
  std::vector<double> values = {};  // of each sample, where more than a mean is asked for
  // Of a gradient, whose own pass in double knows whether it is rounding; of others decided by floor_by.
  Status status = Status::kNone;
};

bool is_gradient(std::size_t metric) { return all_metrics()[metric].kind == MetricKind::kGradient; }

bool wants_gradient(std::span<const std::size_t> chosen) { return std::ranges::any_of(chosen, is_gradient); }

// Requested statistics beyond means and deviations.
struct Extras {
  bool geometric = false, intervals = false;

  bool has_geometric(std::string_view metric) const {
    return geometric && metric.starts_with("relative_residual.") && !metric.ends_with(".spectral");
  }
  bool has_interval(std::string_view metric) const {
    return intervals && (metric == "relative_residual.composite" || metric == "cosine.mean");
  }
};

// Blocks whose attention has equal rows where tokens are equal.
std::set<Index> blocks_with_equal_rows(const Network& network) {
  std::set<Index> blocks;
  for (const SubLayer& layer : network.layers) {
    const Attention* attention = layer.attention();
    if (attention && rows_differ_by_tokens_only(*attention)) blocks.insert(layer.block);
  }
  return blocks;
}

// All cells of a network, empty: states first, then blocks with their heads.
std::vector<MeasureCell> make_cells(const Network& network, std::span<const std::size_t> chosen) {
  const auto floor_by = [](std::size_t metric) {
    const char* name = all_metrics()[metric].floor_by;
    return name ? std::string_view(name) : std::string_view();
  };
  std::set<Index> with_gradient;  // states behind blocks with attention
  if (wants_gradient(chosen) && !gradient_not_carried(network)) {
    for (const SubLayer& layer : network.layers) {
      if (layer.attention()) with_gradient.insert(layer.block + 1);
    }
  }
  std::vector<MeasureCell> cells;
  for (Index state = 0; state <= network.sizes.n_blocks; ++state) {
    for (const std::size_t metric : chosen) {
      if (is_per_head(all_metrics()[metric])) continue;
      if (is_gradient(metric) && !with_gradient.contains(state)) continue;
      cells.push_back({state, std::nullopt, metric, floor_by(metric), {}, {}});
    }
  }
  const std::set<Index> equal_rows = blocks_with_equal_rows(network);
  for (Index block = 0; block < network.sizes.n_blocks; ++block) {
    for (Index head = 0; head < network.sizes.n_heads; ++head) {
      for (const std::size_t metric : chosen) {
        if (!is_per_head(all_metrics()[metric])) continue;
        cells.push_back({block, head, metric, equal_rows.contains(block) ? floor_by(metric) : "", {}, {}});
      }
    }
  }
  return cells;
}

double floor_of(Precision precision) {
  return kFloorEpsilons * (precision == Precision::kF32 ? double{std::numeric_limits<float>::epsilon()}
                                                        : std::numeric_limits<double>::epsilon());
}

// The gradients of all samples, into the cells that are theirs. Those of queries and keys are made of what tells tokens
// apart, and rounding where that is.
void measure_gradients(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                       std::uint64_t seed, const Progress& progress, std::span<MeasureCell> cells) {
  const auto of_samples = gradient_norms(network, weights, samples, {.seed = seed}, {.progress = progress});
  // Tokens that are equal from the start have no residual to lose; elsewhere a zero is rounding too.
  bool all_equal = true;
  for (const auto& blocks : of_samples) all_equal = all_equal && blocks.front().residual == 0;
  for (MeasureCell& cell : cells) {
    if (!is_gradient(cell.metric)) continue;
    const std::string_view name = all_metrics()[cell.metric].name;
    Statistics residuals;
    for (const auto& blocks : of_samples) {
      const BlockGradients& of = blocks[static_cast<std::size_t>(cell.layer - 1)];
      cell.statistics.add(name == "gradient.W_Q" ? of.q : name == "gradient.W_K" ? of.k : of.v);
      residuals.add(of.residual);
    }
    if (name == "gradient.W_V" || !residuals.mean() || *residuals.mean() > floor_of(Precision::kF64)) continue;
    cell.status = all_equal && *residuals.mean() == 0 ? Status::kExactlyZero : Status::kRoundingFloor;
  }
}

// Why there are no gradients.
std::vector<Row> gradient_refusal(const Network& network, std::span<const std::size_t> chosen) {
  const auto refused = wants_gradient(chosen) ? gradient_not_carried(network) : std::nullopt;
  if (!refused) return {};
  Row row{.metric = "gradient"};
  row.reason = refused->reason;
  set_status(row, Status::kNotCarried,
             fmt::format("no gradient of {}: {}", refused->where, reason_words(refused->reason)));
  return {row};
}

// Runs one variant; a cell's statistics are over the samples, added in their order.
template <class T>
std::vector<MeasureCell> measure_network(const Network& network, const WeightSource& weights,
                                         std::span<const Sample> samples, std::span<const std::size_t> chosen,
                                         const Extras& extras, std::uint64_t seed, const Progress& progress) {
  std::vector<std::unique_ptr<MeasureObserver<T>>> observers;
  std::vector<Observer<T>*> pointers;
  const bool pools =
      std::ranges::any_of(chosen, [](std::size_t i) { return all_metrics()[i].kind == MetricKind::kPooled; });
  std::optional<PooledTokens<T>> pooled;
  if (pools) pooled.emplace(samples, network.sizes);
  for (const Sample& sample : samples) {
    observers.push_back(std::make_unique<MeasureObserver<T>>(chosen, network.sizes.n_blocks, network.sizes.n_heads,
                                                             sample.valid, pooled ? &*pooled : nullptr,
                                                             observers.size()));
    pointers.push_back(observers.back().get());
  }
  forward<T>(network, weights, samples, pointers, {.progress = progress});
  std::vector<MeasureCell> cells = make_cells(network, chosen);
  if (wants_gradient(chosen) && !gradient_not_carried(network)) {
    measure_gradients(network, weights, samples, seed, progress, cells);
  }
  for (MeasureCell& cell : cells) {
    if (is_gradient(cell.metric)) continue;
    const std::string_view name = all_metrics()[cell.metric].name;
    const bool keeps = extras.has_geometric(name) || extras.has_interval(name);
    for (const auto& observer : observers) {
      const double value = cell.head ? observer->head_value(cell.layer, *cell.head, cell.metric)
                                     : observer->state_value(cell.layer, cell.metric);
      cell.statistics.add(value);
      if (keeps) cell.values.push_back(value);
      if (all_metrics()[cell.metric].kind == MetricKind::kPooled) break;  // one value for all samples
    }
  }
  return cells;
}

// Means of metrics of states, by layer and name.
using StateMeans = std::map<std::pair<Index, std::string_view>, std::optional<double>>;

StateMeans state_means(std::span<const MeasureCell> cells) {
  StateMeans means;
  for (const MeasureCell& cell : cells) {
    if (!cell.head) means[{cell.layer, all_metrics()[cell.metric].name}] = cell.statistics.mean();
  }
  return means;
}

// Whether a cell's value is rounding alone, an exact zero, or neither.
Status cell_status(const StateMeans& means, const MeasureCell& cell, double floor) {
  constexpr std::string_view kAlwaysMeasured = "relative_residual.composite";
  if (is_gradient(cell.metric)) return cell.status;
  if (cell.floor_by.empty()) return Status::kNone;
  auto found = means.find({cell.layer, cell.floor_by});
  if (found == means.end()) found = means.find({cell.layer, kAlwaysMeasured});
  if (found == means.end() || !found->second || *found->second > floor) return Status::kNone;
  // Tokens that are equal from the start have no residual to lose; elsewhere a zero is rounding too.
  const auto at_start = means.find({0, kAlwaysMeasured});
  const bool all_equal = at_start != means.end() && at_start->second == 0;
  if (!all_equal || *found->second != 0) return Status::kRoundingFloor;
  return cell.statistics.mean() == 0 ? Status::kExactlyZero : Status::kNone;
}

std::vector<Row> make_rows(std::span<const MeasureCell> cells, double floor, const char* kind) {
  std::vector<Row> rows;
  rows.reserve(cells.size());
  const StateMeans means = state_means(cells);
  for (const MeasureCell& cell : cells) {
    Row row{.layer = cell.layer, .head = cell.head, .metric = all_metrics()[cell.metric].name, .kind = kind};
    set(row, cell.statistics);
    const Status status = cell_status(means, cell, floor);
    if (status == Status::kRoundingFloor) set_rounding_floor(row);
    if (status == Status::kExactlyZero) set_status(row, status, "exactly 0");
    rows.push_back(std::move(row));
  }
  return rows;
}

// The geometric mean; 0 if one of the values is.
std::optional<double> geometric_mean(std::span<const double> values) {
  Statistics logarithms;
  for (const double value : values) {
    if (value == 0) return 0;
    logarithms.add(std::log10(value));
  }
  const auto mean = logarithms.mean();
  return mean ? std::optional(std::pow(10, *mean)) : std::nullopt;
}

struct BootstrapInterval {
  double low = 0, high = 0;
};

constexpr Index kResamples = 2000;

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

// The mean of as many values as there are, drawn with replacement; `drawn` is scratch memory.
double resampled_mean(std::span<const double> values, RandomKey key, Index first, std::vector<std::int32_t>& drawn) {
  drawn.resize(values.size());
  fill_integers(key, first, drawn, static_cast<std::int32_t>(values.size()));
  double sum = 0;
  for (const std::int32_t i : drawn) sum += values[static_cast<std::size_t>(i)];
  return sum / static_cast<double>(values.size());
}

// The middle 95 % of the means of resamples.
BootstrapInterval middle_of(std::vector<double> means) {
  std::ranges::sort(means);
  const auto quantile = [&](double share) {
    const double place = share * static_cast<double>(kResamples - 1);
    const auto below = static_cast<std::size_t>(place);
    const double part = place - static_cast<double>(below);
    return means[below] + part * (means[std::min(below + 1, means.size() - 1)] - means[below]);
  };
  return {quantile(0.025), quantile(0.975)};
}

// Over samples. The resamples are the same for all metrics and layers.
BootstrapInterval bootstrap_interval(std::span<const double> values, RandomKey key) {
  std::vector<std::int32_t> drawn;
  std::vector<double> means;
  for (Index b = 0; b < kResamples; ++b) {
    means.push_back(resampled_mean(values, key, b * std::ssize(values), drawn));
  }
  return middle_of(std::move(means));
}

// Over seeds, and in each drawn seed over its samples. Samples of one seed share its weights, so resampling all samples
// alike would take them for independent draws of a network and give an interval that is too narrow.
BootstrapInterval bootstrap_interval(std::span<const std::vector<double>> of_seeds, std::uint64_t first_seed) {
  const RandomKey seed_key = random_key(first_seed, "bootstrap over seeds");
  const RandomKey sample_key = random_key(first_seed, "bootstrap over samples");
  const Index n_seeds = std::ssize(of_seeds);
  const auto most = static_cast<Index>(std::ranges::max(of_seeds, {}, &std::vector<double>::size).size());
  std::vector<std::int32_t> seeds(of_seeds.size()), drawn;
  std::vector<double> means;
  for (Index b = 0; b < kResamples; ++b) {
    fill_integers(seed_key, b * n_seeds, seeds, static_cast<std::int32_t>(n_seeds));
    double sum = 0;
    for (Index s = 0; s < n_seeds; ++s) {
      const auto seed = static_cast<std::size_t>(seeds[static_cast<std::size_t>(s)]);
      sum += resampled_mean(of_seeds[seed], sample_key, (b * n_seeds + s) * most, drawn);
    }
    means.push_back(sum / static_cast<double>(n_seeds));
  }
  return middle_of(std::move(means));
}

// Rows beyond means and deviations, after all others; `rows` are those of the cells.
std::vector<Row> extra_rows(std::span<const MeasureCell> cells, std::span<const Row> rows, const Extras& extras,
                            std::uint64_t seed) {
  const RandomKey key = random_key(seed, "bootstrap over samples");
  std::vector<Row> out;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::vector<double>& values = cells[c].values;
    if (values.empty()) continue;
    const auto add = [&](std::string_view prefix, std::optional<double> value) {
      Row& row = out.emplace_back(rows[c]);
      row.metric = fmt::format("{}{}", prefix, rows[c].metric);
      row.mean = value;
      row.std.reset();
    };
    if (extras.has_geometric(rows[c].metric)) add("geometric_", geometric_mean(values));
    if (!extras.has_interval(rows[c].metric) || !all_finite(values) || values.size() < 2) continue;
    const BootstrapInterval interval = bootstrap_interval(values, key);
    add("interval_low.", interval.low);
    add("interval_high.", interval.high);
  }
  return out;
}

// The samples' values of each seed and cell, of one model and variant; empty where no interval is asked for.
using ValuesOfSeeds = std::vector<std::vector<std::vector<double>>>;

std::vector<std::vector<double>> interval_values(std::span<const MeasureCell> cells, const Extras& extras) {
  std::vector<std::vector<double>> out;
  for (const MeasureCell& cell : cells) {
    out.push_back(extras.has_interval(all_metrics()[cell.metric].name) ? cell.values : std::vector<double>());
  }
  return out;
}

// `rows` are those of the cells over seeds.
std::vector<Row> interval_rows_over_seeds(const ValuesOfSeeds& of_seeds, std::span<const Row> rows,
                                          std::uint64_t first_seed) {
  std::vector<Row> out;
  for (std::size_t c = 0; c < rows.size(); ++c) {
    std::vector<std::vector<double>> values;
    for (const auto& cells : of_seeds) values.push_back(cells[c]);
    const auto usable = [](const std::vector<double>& one) { return !one.empty() && all_finite(one); };
    if (values.size() < 2 || !std::ranges::all_of(values, usable)) continue;
    const BootstrapInterval interval = bootstrap_interval(values, first_seed);
    for (const auto& [prefix, value] :
         {std::pair("interval_low.", interval.low), std::pair("interval_high.", interval.high)}) {
      Row& row = out.emplace_back(rows[c]);
      row.metric = prefix + rows[c].metric;
      row.mean = value;
      row.std.reset();
    }
  }
  return out;
}

std::vector<Row> geometric_rows_over_seeds(std::span<const std::vector<Row>> of_seeds, std::size_t n_cells) {
  std::vector<Row> out;
  for (std::size_t r = n_cells; r < of_seeds[0].size(); ++r) {
    if (!of_seeds[0][r].metric.starts_with("geometric_")) continue;
    std::vector<double> means;
    bool floor = true;
    for (const std::vector<Row>& rows : of_seeds) {
      means.push_back(rows[r].mean.value_or(std::numeric_limits<double>::quiet_NaN()));
      floor = floor && rows[r].status == Status::kRoundingFloor;
    }
    Row& row = out.emplace_back(of_seeds[0][r]);
    row.mean = geometric_mean(means);
    row.n = static_cast<Index>(means.size());
    row.kind = "seeds";
    row.seed.reset();
    if (!floor && row.status == Status::kRoundingFloor) {
      row.status = Status::kNone;
      row.verdict = {};
    }
  }
  return out;
}

Study measure_study(const MeasureOptions& options) {
  Study study;
  study.name = "measure";
  study.precision = options.precision == Precision::kF32 ? "f32" : "f64";
  study.variants = variants_or_paper(options.variants);
  add(study.manifest, "mean", std::string(words_of(Averaging::kArithmetic)));
  const Extras extras{options.geometric, options.intervals};
  const std::uint64_t first_seed = options.seed;
  study.progress = options.progress;
  const std::vector<std::size_t> chosen = select_metrics(options.metrics);
  const double floor = floor_of(options.precision);
  const bool f32 = options.precision == Precision::kF32;
  study.check = [chosen, f32](const Model& /*model*/, const Network& network, MemoryPlan plan) {
    plan.precision = f32 ? Precision::kF32 : Precision::kF64;
    const auto wants = [&](MetricKind kind) {
      return std::ranges::any_of(chosen, [&](std::size_t i) { return all_metrics()[i].kind == kind; });
    };
    plan.whole_attention = wants(MetricKind::kAttention);
    // The tokens of all samples together, with a copy in double, and the state before.
    const double states = static_cast<double>(plan.n_samples * plan.n_tokens * network.sizes.d_model) * sizeof(double);
    plan.kept_bytes += (wants(MetricKind::kPooled) ? 2 * states : 0) + (wants(MetricKind::kInfluence) ? states : 0);
    if (wants(MetricKind::kGradient)) {
      // In double: the input of every sub-layer, and P of every head that is being worked on.
      plan.whole_attention = true;
      plan.kept_bytes += states * static_cast<double>(network.layers.size() + 8);
    }
    check_memory(network, plan);
  };
  // From the runs of single seeds to the interval over all of them, by model and variant. Runs follow one another.
  const auto kept = std::make_shared<std::map<std::pair<std::string, std::string>, ValuesOfSeeds>>();
  study.rows = [chosen, floor, f32, extras, first_seed, kept](const StudyRun& run) {
    const auto measure_cells = f32 ? measure_network<float> : measure_network<double>;
    const std::vector<MeasureCell> cells = measure_cells(run.network, *run.model.weights, run.samples, chosen, extras,
                                                         run.seed.value_or(first_seed), run.progress);
    if (extras.intervals && run.seed) {
      (*kept)[{run.model.name, run.variant.name}].push_back(interval_values(cells, extras));
    }
    std::vector<Row> rows = make_rows(cells, floor, "samples");
    std::ranges::move(extra_rows(cells, rows, extras, run.seed.value_or(first_seed)), std::back_inserter(rows));
    std::ranges::move(gradient_refusal(run.network, chosen), std::back_inserter(rows));
    return rows;
  };
  study.over_seeds = [chosen, floor, first_seed, kept](const StudyRun& run,
                                                       std::span<const std::vector<Row>> of_seeds) {
    std::vector<MeasureCell> cells = make_cells(run.network, chosen);
    for (const std::vector<Row>& rows : of_seeds) {
      for (std::size_t c = 0; c < cells.size(); ++c) {
        cells[c].statistics.add(rows[c].mean.value_or(std::numeric_limits<double>::quiet_NaN()));
        const bool first = &rows == &of_seeds.front();
        cells[c].status = first || cells[c].status == rows[c].status ? rows[c].status : Status::kNone;
      }
    }
    std::vector<Row> rows = make_rows(cells, floor, "seeds");
    std::vector<Row> intervals;
    if (const auto values = kept->extract(std::pair(run.model.name, run.variant.name))) {
      intervals = interval_rows_over_seeds(values.mapped(), rows, first_seed);
    }
    std::ranges::move(geometric_rows_over_seeds(of_seeds, cells.size()), std::back_inserter(rows));
    std::ranges::move(intervals, std::back_inserter(rows));
    std::ranges::move(gradient_refusal(run.network, chosen), std::back_inserter(rows));
    return rows;
  };
  return study;
}

}  // namespace

Result measure(const Model& model, std::span<const Sample> samples, const MeasureOptions& options) {
  return run_study(measure_study(options), model, samples);
}

Result measure(std::span<const std::string> models, const MeasureOptions& options) {
  return run_study(measure_study(options), models, {options.input, options.seed, options.n_seeds});
}

}  // namespace rankfall
