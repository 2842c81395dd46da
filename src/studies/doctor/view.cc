#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/views.h"

namespace rankfall {

View doctor_view(const Result& result, const ViewOptions& /*options*/) {
  Table table;
  table.columns = {{"what"}, {"found", TableColumn::Kind::kProse}};
  for (const Row& row : result.rows) {
    std::string what = row.metric.substr(row.metric.find('.') + 1);  // "threads agree" of "doctor.threads_agree"
    std::ranges::replace(what, '_', ' ');
    table.rows.push_back({std::move(what), Badge{tone_of(row.status), fmt::to_string(row.verdict)}});
  }
  Figure figure;
  figure.id = "doctor";
  figure.title = "This machine and this build";
  figure.caption = "What rankfall is made of and runs on, and whether its results can be reproduced.";
  if (!table.rows.empty()) figure.nodes.emplace_back(std::move(table));
  View view;
  view.figures.push_back(std::move(figure));
  return view;
}

}  // namespace rankfall
