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
  int column = 0;
  for (const ExplainedName& line : lines) {
    const int width = display_width(shown(line.name));
    if (!line.explanation.empty() && width <= kWidest) column = std::max(column, width);
  }
  column += 2 * kIndent;
  const int rest = std::max(20, options.width - column);
  std::string out;
  for (const ExplainedName& line : lines) {
    const std::string name = shown(line.name);
    if (line.explanation.empty()) {
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
    for (const std::string& part : wrap(shown(line.explanation), rest, options.unicode)) {
      out += fit(left, column, Align::kLeft, options.unicode) + part + '\n';
      left.clear();
    }
  }
  return out;
}

}  // namespace rankfall
