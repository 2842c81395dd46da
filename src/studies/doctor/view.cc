#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/views.h"
#include "view/rows.h"

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
  View view;
  if (!table.rows.empty()) {
    std::vector<std::string> failed, warned;
    for (std::size_t r = 0; r < result.rows.size(); ++r) {
      const Status status = result.rows[r].status;
      const auto& name = std::get<std::string>(table.rows[r][0]);
      if (status == Status::kFailed) failed.push_back(name);
      if (status == Status::kWarning) warned.push_back(name);
    }
    std::string text = failed.empty() ? (warned.empty() ? "Every check passes." : "No check fails.")
                                      : fmt::format("Failed: {}.", joined(failed));
    if (!warned.empty()) text += fmt::format(" Look at: {}.", joined(warned));
    view.answers.push_back({Question::kMachine, std::move(text), failed.empty() ? Tone::kGood : Tone::kBad});
    figure.nodes.emplace_back(std::move(table));
  }
  view.figures.push_back(std::move(figure));
  return view;
}

}  // namespace rankfall
