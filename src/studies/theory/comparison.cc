#include "studies/theory/comparison.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "network/attention/kind.h"
#include "result/statistics.h"
#include "studies/part_of.h"
#include <rankfall/collapse.h>
#include <rankfall/measure.h>

namespace rankfall {
namespace {

using Place = std::tuple<std::string, std::string, Index, std::string>;  // model, variant, layer, metric

Place place_of(const Row& row) { return {row.model, row.variant, *row.layer, row.metric}; }

bool is_state_row(const Row& row) { return row.layer && !row.head && !row.sample && !row.metric.empty(); }

// The mean over samples of every metric of `measure` and `collapse`, for one seed.
std::map<Place, std::optional<double>> measured(std::span<const std::string> models, const TheoryOptions& options,
                                                std::uint64_t seed) {
  std::map<Place, std::optional<double>> out;
  MeasureOptions plain;
  plain.variants = options.variants;
  plain.metrics = options.metrics;
  plain.precision = Precision::kF64;
  plain.seed = seed;
  plain.input = options.input;
  CollapseOptions exact;
  exact.variants = options.variants;
  std::erase_if(exact.variants, [](const Variant& variant) {  // which collapse does not take
    return variant.attention && variant.attention->weights && is_low_rank(*variant.attention->weights);
  });
  exact.error_draws = 1;
  exact.floats = false;
  exact.each_sample = false;
  exact.depth = options.depth;
  exact.seed = seed;
  exact.input = options.input;
  if (!options.depth) {
    for (const Row& row : measure(models, plain).rows) {
      if (is_state_row(row) && row.status != Status::kRoundingFloor) out[place_of(row)] = row.mean;
    }
  }
  if (exact.variants.empty() && !options.variants.empty()) return out;
  for (const Row& row : collapse(models, exact).rows) {
    if (is_state_row(row) && row.kind == "exact") out[place_of(row)] = row.mean;
  }
  return out;
}

}  // namespace

void add_comparison(std::span<const std::string> models, const TheoryOptions& options, Result& result) {
  std::map<Place, Statistics> of_seeds;
  for (Index s = 0; s < options.n_seeds; ++s) {
    if (options.progress) {
      options.progress(static_cast<double>(s), static_cast<double>(options.n_seeds), "measurement");
    }
    for (const auto& [place, mean] : measured(models, options, options.seed + static_cast<std::uint64_t>(s))) {
      if (mean) of_seeds[place].add(*mean);
    }
  }
  std::vector<Row> rows;
  for (const Row& row : result.rows) {
    if (!row.layer || !row.mean || row.status == Status::kRoundingFloor) continue;
    if (row.metric.starts_with("standard_error.")) continue;
    const auto found = of_seeds.find(place_of(row));
    if (found == of_seeds.end() || !found->second.mean()) continue;
    const double measured_mean = *found->second.mean();
    Row& beside = rows.emplace_back(
        Row{.model = row.model, .variant = row.variant, .layer = row.layer, .metric = "measured." + row.metric});
    beside.kind = "seeds";
    set(beside, found->second);
    const auto deviation = found->second.std();
    if (!deviation || *deviation <= 0) continue;
    Row& difference = rows.emplace_back(
        Row{.model = row.model, .variant = row.variant, .layer = row.layer, .metric = "deviations." + row.metric});
    difference.kind = "seeds";
    difference.mean = (measured_mean - *row.mean) / *deviation;
    difference.n = found->second.n();
  }
  result.rows.insert(result.rows.end(), rows.begin(), rows.end());
}

}  // namespace rankfall
