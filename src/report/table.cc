#include <fmt/format.h>

#include "render/terminal/terminal.h"
#include "studies/views.h"
#include "view/rows.h"
#include <rankfall/report.h>

namespace rankfall {

std::string to_table(const Result& result, const TableOptions& options) {
  View view = view_of(result, {.metrics = options.metrics, .compares = false});
  if (!options.more.empty()) {
    const std::string all = fmt::format("For all {}: {}.", counted(result.rows.size(), "row"), options.more);
    if (view.notes.empty()) view.notes.emplace_back();
    view.notes.back() += (view.notes.back().empty() ? "" : " ") + all;
  }
  return terminal_text(view, options);
}

std::vector<std::string> answers(const Result& result, const TableOptions& options) {
  const View view = view_of(result, {.metrics = options.metrics, .compares = false});
  std::vector<std::string> out;
  for (const Answer& answer : view.answers) out.push_back(answer.answer);
  return out;
}

}  // namespace rankfall
