#include "report/text_grid.h"

#include <algorithm>

#include "report/screen_text.h"

namespace rankfall {
namespace {

constexpr int kGap = 2;

void end_line(std::string line, TableText& out) {
  line.erase(line.find_last_not_of(' ') + 1);
  out.text += line + '\n';
}

}  // namespace

TextGrid::TextGrid(std::size_t n_labels, std::vector<Column> columns)
    : n_labels_(n_labels), columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(display_width(column.name));
}

void TextGrid::line(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t c = 0; c < cells.size(); ++c) widths_[c] = std::max(widths_[c], display_width(cells[c]));
  lines_.push_back(std::move(cells));
}

void TextGrid::write(TableText& out) const {
  if (lines_.empty()) return;
  const auto room_for = [&](std::size_t c) { return widths_[c] == 0 ? 0 : widths_[c] + kGap; };
  int labels = -kGap;
  for (std::size_t c = 0; c < n_labels_; ++c) labels += room_for(c);
  for (std::size_t first = n_labels_; first < columns_.size();) {
    std::size_t last = first;
    for (int used = labels; last < columns_.size();) {
      std::size_t end = last;  // of the columns that stay together
      int more = room_for(end);
      while (columns_[end].with_next && end + 1 < columns_.size()) more += room_for(++end);
      if (last > first && used + more > out.options.width) break;
      used += more;
      last = end + 1;
    }
    piece(out, first, last);
    first = last;
  }
}

void TextGrid::piece(TableText& out, std::size_t first, std::size_t last) const {
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if ((c < n_labels_ || (c >= first && c < last)) && widths_[c] > 0) shown.push_back(c);
  }
  const auto put = [&](bool heading, const auto& text_of) {
    std::string line;
    int used = 0;
    for (const std::size_t c : shown) {
      const int room = std::min(widths_[c], out.options.width - used);
      if (room <= 0) break;
      if (used > 0) line += std::string(kGap, ' ');
      const Align align = columns_[c].left ? Align::kLeft : Align::kRight;
      const Colour colour = c < n_labels_ || (!heading && columns_[c].dim) ? Colour::kDim
                            : heading                                      ? Colour::kBold
                                                                           : Colour::kPlain;
      line += out.paint(colour, fit(text_of(c), room, align, out.options.unicode));
      used += room + kGap;
    }
    end_line(std::move(line), out);
  };
  if (const std::string above = groups(shown, out.options); !above.empty()) {
    out.text += out.paint(Colour::kBold, above) + '\n';
  }
  put(true, [&](std::size_t c) { return columns_[c].name; });
  for (const auto& cells : lines_) put(false, [&](std::size_t c) { return cells[c]; });
  out.text += '\n';
}

std::string TextGrid::groups(const std::vector<std::size_t>& shown, const TableOptions& options) const {
  std::string line;
  std::string_view before;
  int used = 0;
  for (const std::size_t c : shown) {
    const std::string& group = columns_[c].group;
    const int at = std::max(used, display_width(line) + (line.empty() ? 0 : 1));
    if (!group.empty() && group != before && at < options.width) {
      line += std::string(static_cast<std::size_t>(at - display_width(line)), ' ');
      line += fit(group, std::min(display_width(group), options.width - at), Align::kLeft, options.unicode);
    }
    before = group;
    used += widths_[c] + kGap;
  }
  return line;
}

}  // namespace rankfall
