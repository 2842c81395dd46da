#include "report/token_lines.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/paint.h"
#include "report/screen_text.h"

namespace rankfall {

std::string token_lines(const std::vector<const Row*>& rows, const TableOptions& options) {
  const Painter paint(options.colour);
  std::string out;
  std::string pieces;
  std::string ids;
  int used = 0;
  const auto flush = [&] {
    if (used == 0) return;
    for (std::string* line : {&pieces, &ids}) line->erase(line->find_last_not_of(' ') + 1);
    out += pieces + '\n' + paint(Colour::kDim, ids) + '\n';
    pieces.clear();
    ids.clear();
    used = 0;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = *rows[i];
    if (i == 0 || rows[i - 1]->sample != row.sample) {
      flush();
      std::size_t of_sample = 1;
      while (i + of_sample < rows.size() && rows[i + of_sample]->sample == row.sample) ++of_sample;
      out += paint(Colour::kBold,
                   fmt::format("{}sample {}: {} tokens", i == 0 ? "" : "\n", row.sample.value_or(0), of_sample));
      out += '\n';
    }
    const std::string piece = screen_name(row.text, options.unicode);
    const std::string id = fmt::format("{}", static_cast<std::int64_t>(std::clamp(row.mean.value_or(0), -9e18, 9e18)));
    const int width = std::min(std::max(display_width(piece), display_width(id)), options.width);
    if (used > 0 && used + 2 + width > options.width) flush();
    if (used > 0) {
      pieces += "  ";
      ids += "  ";
      used += 2;
    }
    pieces += fit(piece, width, Align::kLeft, options.unicode);
    ids += fit(id, width, Align::kLeft, options.unicode);
    used += width;
  }
  flush();
  return out;
}

}  // namespace rankfall
