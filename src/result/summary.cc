#include "result/summary.h"

#include <set>
#include <string_view>
#include <utility>

namespace rankfall {

std::vector<const Row*> summary_rows(const Result& result) {
  std::set<std::pair<std::string_view, std::string_view>> summarised;  // model, metric
  for (const Row& row : result.rows) {
    if (!row.seed) summarised.emplace(row.model, row.metric);
  }
  std::vector<const Row*> rows;
  for (const Row& row : result.rows) {
    if (!row.seed || !summarised.contains({row.model, row.metric})) rows.push_back(&row);
  }
  return rows;
}

}  // namespace rankfall
