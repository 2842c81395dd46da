#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "result/manifest.h"
#include "result/statistics.h"
#include "studies/driver.h"
#include "studies/measure/measure_observer.h"
#include "studies/measure/metrics.h"
#include <rankfall/forward.h>
#include <rankfall/measure.h>
#include <rankfall/metric_info.h>

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

std::vector<Row> make_rows(std::span<const Cell> cells, double floor, const char* kind) {
  std::vector<Row> rows;
  rows.reserve(cells.size());
  const StateMeans means = state_means(cells);
  for (const Cell& cell : cells) {
    Row row{.layer = cell.layer, .head = cell.head, .metric = all_metrics()[cell.metric].name, .kind = kind};
    set(row, cell.statistics);
    const Status status = cell_status(means, cell, floor);
    if (status == Status::kRoundingFloor) set_rounding_floor(row);
    if (status == Status::kExactlyZero) set_status(row, status, "exactly 0");
    rows.push_back(std::move(row));
  }
  return rows;
}

Study measure_study(const MeasureOptions& options) {
  Study study;
  study.name = "measure";
  study.precision = options.precision == Precision::kF32 ? "f32" : "f64";
  study.variants = variants_or_paper(options.variants);
  add(study.manifest, "mean", std::string(words_of(Averaging::kArithmetic)));
  study.progress = options.progress;
  const std::vector<std::size_t> chosen = select_metrics(options.metrics);
  const double floor = floor_of(options.precision);
  const bool f32 = options.precision == Precision::kF32;
  study.check = [chosen, f32](const Model& /*model*/, const Network& network, MemoryPlan plan) {
    plan.precision = f32 ? Precision::kF32 : Precision::kF64;
    plan.whole_attention =
        std::ranges::any_of(chosen, [](std::size_t i) { return all_metrics()[i].kind == MetricKind::kAttention; });
    check_memory(network, plan);
  };
  study.rows = [chosen, floor, f32](const StudyRun& run) {
    const auto measure_cells = f32 ? measure_network<float> : measure_network<double>;
    return make_rows(measure_cells(run.network, *run.model.weights, run.samples, chosen, run.progress), floor,
                     "samples");
  };
  study.over_seeds = [chosen, floor](const StudyRun& run, std::span<const std::vector<Row>> of_seeds) {
    std::vector<Cell> cells = make_cells(run.network, chosen);
    for (const std::vector<Row>& rows : of_seeds) {
      for (std::size_t c = 0; c < cells.size(); ++c) {
        cells[c].statistics.add(rows[c].mean.value_or(std::numeric_limits<double>::quiet_NaN()));
      }
    }
    return make_rows(cells, floor, "seeds");
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
