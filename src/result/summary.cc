#include "result/summary.h"

#include <set>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

using Key = std::pair<std::string_view, std::string_view>;  // model, metric

// Which levels a metric of a model has.
struct Levels {
  std::set<Key> over_seeds, of_seeds, over_samples;

  explicit Levels(const Result& result) {
    for (const Row& row : result.rows) {
      (row.seed ? of_seeds : over_seeds).insert({row.model, row.metric});
      if (!row.sample) over_samples.insert({row.model, row.metric});
    }
  }
};

}  // namespace

Result at_level(const Result& result, RowLevel level) {
  if (level == RowLevel::kAll) return result;
  const Levels levels(result);
  Result out{result.command, result.manifest, {}};
  bool any_over_seeds = false;
  for (const Row& row : result.rows) {
    const Key key(row.model, row.metric);
    if (row.sample && levels.over_samples.contains(key)) continue;
    const bool both = levels.over_seeds.contains(key) && levels.of_seeds.contains(key);
    any_over_seeds |= both;
    if (both && row.seed.has_value() != (level == RowLevel::kSamples)) continue;
    out.rows.push_back(row);
  }
  if (level == RowLevel::kSeeds && !any_over_seeds) {
    throw usage_error("this result has no means over seeds; it was made with one seed");
  }
  return out;
}

std::vector<const Row*> summary_rows(const Result& result) {
  std::set<Key> over_seeds;
  std::set<Key> over_samples;
  std::set<Key> exact;
  for (const Row& row : result.rows) {
    const Key key(row.model, row.metric);
    if (!row.seed) over_seeds.insert(key);
    if (!row.sample) over_samples.insert(key);
    if (row.kind == "exact") exact.insert(key);
  }
  std::vector<const Row*> rows;
  for (const Row& row : result.rows) {
    const Key key(row.model, row.metric);
    const bool single_seed = row.seed && over_seeds.contains(key);
    const bool single_sample = row.sample && over_samples.contains(key);
    const bool rounded = (row.kind == "f32" || row.kind == "f64") && exact.contains(key);
    if (!single_seed && !single_sample && !rounded) rows.push_back(&row);
  }
  return rows;
}

}  // namespace rankfall
