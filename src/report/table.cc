#include <fmt/format.h>

#include "render/terminal/terminal.h"
#include "studies/views.h"
#include "view/rows.h"
#include <rankfall/report.h>

namespace rankfall {

std::string to_table(const Result& result, const TableOptions& options) {
  View view = view_of(result, {.metrics = options.metrics, .compares = false});
  // Commands that print these have no other format.
  if (result.command != "agreement" && result.command != "tokens") {
    view.notes.push_back(fmt::format("all {} with --format csv or json", counted(result.rows.size(), "row")));
  }
  return terminal_text(view, options);
}

}  // namespace rankfall
