#include "result/summary.h"

#include <set>
#include <string_view>
#include <utility>

namespace rankfall {

std::vector<const Row*> summary_rows(const Result& result) {
  using Key = std::pair<std::string_view, std::string_view>;  // model, metric
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
