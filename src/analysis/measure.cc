#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/measure_observer.h"
#include "analysis/metrics.h"
#include "analysis/part_of.h"
#include "analysis/provenance.h"
#include "input/inputs.h"
#include "model/memory.h"
#include "result/averaging.h"
#include "result/manifest.h"
#include "result/statistics.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/measure.h>

namespace rankfall {
namespace {

// Statistics of one (layer, head, metric) cell; the order of cells is the order of rows.
struct Cell {
  Index layer = 0;
  std::optional<Index> head;
  std::size_t metric = 0;
  std::string_view floor_by;  // Metric::floor_by, as far as it holds for this network; empty: none
  Statistics statistics;
};

// Blocks whose attention has equal rows where tokens are equal.
std::set<Index> blocks_with_equal_rows(const Network& network) {
  std::set<Index> blocks;
  for (const SubLayer& layer : network.layers) {
    const auto* attention = std::get_if<Attention>(&layer.f);
    if (attention && rows_differ_by_tokens_only(*attention)) blocks.insert(layer.block);
  }
  return blocks;
}

// All cells of a network, empty: states first, then blocks with their heads.
std::vector<Cell> make_cells(const Network& network, std::span<const std::size_t> chosen) {
  const auto floor_by = [](std::size_t metric) {
    const char* name = all_metrics()[metric].floor_by;
    return name ? std::string_view(name) : std::string_view();
  };
  std::vector<Cell> cells;
  for (Index state = 0; state <= network.sizes.n_blocks; ++state) {
    for (const std::size_t metric : chosen) {
      if (!is_per_head(all_metrics()[metric])) cells.push_back({state, std::nullopt, metric, floor_by(metric), {}});
    }
  }
  const std::set<Index> equal_rows = blocks_with_equal_rows(network);
  for (Index block = 0; block < network.sizes.n_blocks; ++block) {
    for (Index head = 0; head < network.sizes.n_heads; ++head) {
      for (const std::size_t metric : chosen) {
        if (!is_per_head(all_metrics()[metric])) continue;
        cells.push_back({block, head, metric, equal_rows.contains(block) ? floor_by(metric) : "", {}});
      }
    }
  }
  return cells;
}

// Runs one variant; a cell's statistics are over the samples, added in their order.
template <class T>
std::vector<Cell> measure_network(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                                  std::span<const std::size_t> chosen, const Progress& progress) {
  std::vector<std::unique_ptr<MeasureObserver<T>>> observers;
  std::vector<Observer<T>*> pointers;
  for (const Sample& sample : samples) {
    observers.push_back(
        std::make_unique<MeasureObserver<T>>(chosen, network.sizes.n_blocks, network.sizes.n_heads, sample.valid));
    pointers.push_back(observers.back().get());
  }
  forward<T>(network, weights, samples, pointers, {.progress = progress});
  std::vector<Cell> cells = make_cells(network, chosen);
  for (Cell& cell : cells) {
    for (const auto& observer : observers) {
      cell.statistics.add(cell.head ? observer->head_value(cell.layer, *cell.head, cell.metric)
                                    : observer->state_value(cell.layer, cell.metric));
    }
  }
  return cells;
}

double floor_of(Precision precision) {
  return kFloorEpsilons * (precision == Precision::kF32 ? double{std::numeric_limits<float>::epsilon()}
                                                        : std::numeric_limits<double>::epsilon());
}

// Means of metrics of states, by layer and name.
using StateMeans = std::map<std::pair<Index, std::string_view>, std::optional<double>>;

StateMeans state_means(std::span<const Cell> cells) {
  StateMeans means;
  for (const Cell& cell : cells) {
    if (!cell.head) means[{cell.layer, all_metrics()[cell.metric].name}] = cell.statistics.mean();
  }
  return means;
}

// What became of a cell's value: rounding alone, an exact zero, or nothing to say.
Status cell_status(const StateMeans& means, const Cell& cell, double floor) {
  constexpr std::string_view kAlwaysMeasured = "relative_residual.composite";
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

std::vector<Row> make_rows(const std::string& model, const std::string& variant, std::span<const Cell> cells,
                           double floor, std::optional<std::uint64_t> seed, const char* kind) {
  std::vector<Row> rows;
  rows.reserve(cells.size());
  const StateMeans means = state_means(cells);
  for (const Cell& cell : cells) {
    Row row;
    row.model = model;
    row.variant = variant;
    row.layer = cell.layer;
    row.head = cell.head;
    row.metric = all_metrics()[cell.metric].name;
    row.mean = cell.statistics.mean();
    row.std = cell.statistics.std();
    row.n = cell.statistics.n();
    row.seed = seed;
    row.kind = kind;
    const Status status = cell_status(means, cell, floor);
    if (status == Status::kRoundingFloor) set_rounding_floor(row);
    if (status == Status::kExactlyZero) {
      row.status = status;
      row.verdict = "exactly 0";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

MemoryPlan memory_plan(const Model& model, const InputSize& size, std::span<const std::size_t> chosen,
                       const MeasureOptions& options) {
  const auto of_whole_attention = [](std::size_t i) { return all_metrics()[i].kind == MetricKind::kAttention; };
  return {size.n_samples, size.n_tokens, options.precision == Precision::kF32 ? sizeof(float) : sizeof(double),
          std::ranges::any_of(chosen, of_whole_attention), model.drawn};
}

std::vector<Cell> measure_variant(const Model& model, const Variant& variant, std::span<const Sample> samples,
                                  std::span<const std::size_t> chosen, Precision precision, const Progress& progress) {
  const Network network = apply(variant, model.network);
  const auto run = [&]() {
    return precision == Precision::kF32 ? measure_network<float>(network, *model.weights, samples, chosen, progress)
                                        : measure_network<double>(network, *model.weights, samples, chosen, progress);
  };
  try {
    return run();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}, variant {}: {}", model.name, variant.name, error.what()));
  }
}

Manifest manifest_of(const MeasureOptions& options) {
  Manifest manifest =
      run_manifest(options.precision == Precision::kF32 ? "f32" : "f64", variants_or_paper(options.variants));
  add(manifest, "mean", std::string(words_of(Averaging::kArithmetic)));
  return manifest;
}

}  // namespace

Result measure(const Model& model, std::span<const Sample> samples, const MeasureOptions& options) {
  Result result{"measure", manifest_of(options), {}};
  const auto chosen = select_metrics(options.metrics);
  const auto variants = variants_or_paper(options.variants);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    check_memory(apply(variants[v], model.network), memory_plan(model, size_of(samples), chosen, options));
    const Progress progress = part_of(options.progress, static_cast<double>(v), static_cast<double>(variants.size()),
                                      model.name + " " + variants[v].name);
    const auto cells = measure_variant(model, variants[v], samples, chosen, options.precision, progress);
    auto rows = make_rows(model.name, variants[v].name, cells, floor_of(options.precision), std::nullopt, "samples");
    std::ranges::move(rows, std::back_inserter(result.rows));
  }
  return result;
}

Result measure(std::span<const std::string> models, const MeasureOptions& options) {
  if (models.empty()) throw Error(ErrorKind::kUsage, "no model given");
  if (options.seed > std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(options.n_seeds)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("seed {} and {} seeds go beyond the largest seed", options.seed, options.n_seeds));
  }
  if (options.n_seeds < 1) {
    throw Error(ErrorKind::kUsage, fmt::format("{} seeds; expected at least 1", options.n_seeds));
  }
  Result result{"measure", manifest_of(options), {}};
  add(result.manifest, "seed", options.seed);
  add(result.manifest, "seeds", std::int64_t{options.n_seeds});

  const auto chosen = select_metrics(options.metrics);
  const auto variants = variants_or_paper(options.variants);
  const double floor = floor_of(options.precision);
  // What can be refused is refused before the first long computation.
  std::vector<Inputs> given;  // from a file: the same for every seed
  Provenance provenance;
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (std::ranges::find(models.first(i), models[i]) != models.first(i).end()) {
      throw Error(ErrorKind::kUsage, fmt::format("model '{}' is given twice", models[i]));
    }
    const Model model = open_model(models[i], options.seed, {{}, options.input.ignore_unused});
    if (options.n_seeds > 1 && !model.drawn && options.input.from_file()) {
      throw Error(ErrorKind::kUsage, fmt::format("{} seeds, but neither the weights of {} nor its inputs are random",
                                                 options.n_seeds, models[i]));
    }
    const bool from_file = options.input.from_file();
    if (from_file) given.push_back(open_inputs(model.network, input_for(model, options.input), options.seed));
    const InputSize size = from_file ? size_of(given.back().samples) : random_size(model.network, options.input);
    for (const Variant& variant : variants) {
      check_memory(apply(variant, model.network), memory_plan(model, size, chosen, options));
    }
    InputOptions one = options.input;
    one.n_samples = 1;
    provenance.add(model, options.input,
                   from_file ? given.back().source : open_inputs(model.network, one, options.seed).source, size);
    if (from_file) provenance.add_notes(given.back().notes);
  }
  provenance.write(result.manifest);

  const double n_jobs = static_cast<double>(models.size() * variants.size()) * static_cast<double>(options.n_seeds);
  double job = 0;
  for (std::size_t m = 0; m < models.size(); ++m) {
    const std::string& spec = models[m];
    std::vector<std::vector<Cell>> over_seeds(variants.size());
    std::vector<std::vector<Row>> rows(variants.size());
    for (Index s = 0; s < options.n_seeds; ++s) {
      const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(s);
      const Model model = open_model(spec, seed, {{}, options.input.ignore_unused});
      const Inputs inputs =
          options.input.from_file() ? given[m] : open_inputs(model.network, input_for(model, options.input), seed);
      for (std::size_t v = 0; v < variants.size(); ++v) {
        std::string what = spec + " " + variants[v].name;
        if (options.n_seeds > 1) what += fmt::format(" seed {}", seed);
        const auto cells = measure_variant(model, variants[v], inputs.samples, chosen, options.precision,
                                           part_of(options.progress, job++, n_jobs, what));
        if (over_seeds[v].empty()) over_seeds[v] = make_cells(model.network, chosen);
        for (std::size_t c = 0; c < cells.size(); ++c) {
          over_seeds[v][c].statistics.add(
              cells[c].statistics.mean().value_or(std::numeric_limits<double>::quiet_NaN()));
        }
        const auto label = options.n_seeds > 1 ? std::optional(seed) : std::nullopt;
        std::ranges::move(make_rows(spec, variants[v].name, cells, floor, label, "samples"),
                          std::back_inserter(rows[v]));
      }
    }
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if (options.n_seeds > 1) {
        std::ranges::move(make_rows(spec, variants[v].name, over_seeds[v], floor, std::nullopt, "seeds"),
                          std::back_inserter(result.rows));
      }
      std::ranges::move(rows[v], std::back_inserter(result.rows));
    }
  }
  return result;
}

}  // namespace rankfall
