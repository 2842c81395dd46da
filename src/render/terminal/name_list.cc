#include <algorithm>

#include "render/terminal/paint.h"
#include "render/terminal/screen_text.h"
#include <rankfall/report.h>

namespace rankfall {

std::string to_list(const std::vector<ExplainedName>& lines, const TableOptions& options) {
  constexpr int kIndent = 2;
  constexpr int kWidest = 36;  // a longer name has a line of its own
  const Painter paint(options.colour);
  const auto shown = [&](const std::string& text) { return screen_text(text, options.unicode); };
  // Explanations of one section, up to the next heading, begin in one column.
  const auto column_from = [&](std::size_t first) {
    int column = 0;
    for (std::size_t i = first; i < lines.size() && !lines[i].explanation.empty(); ++i) {
      const int width = display_width(shown(lines[i].name));
      if (width <= kWidest) column = std::max(column, width);
    }
    return column + 2 * kIndent;
  };
  int column = column_from(0);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ExplainedName& line = lines[i];
    const std::string name = shown(line.name);
    if (line.explanation.empty()) {
      column = column_from(i + 1);
      if (!out.empty()) out += '\n';
      for (const std::string& part : wrap(name, std::max(40, options.width), options.unicode)) {
        out += paint(Colour::kBold, part) + '\n';
      }
      continue;
    }
    std::string left = std::string(kIndent, ' ') + name;
    if (display_width(left) > column - kIndent) {
      out += left + '\n';
      left.clear();
    }
    for (const std::string& part :
         wrap(shown(line.explanation), std::max(20, options.width - column), options.unicode)) {
      out += fit(left, column, Align::kLeft, options.unicode) + part + '\n';
      left.clear();
    }
  }
  return out;
}

}  // namespace rankfall
