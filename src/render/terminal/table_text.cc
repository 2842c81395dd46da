#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "render/terminal/screen.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

using Kind = TableColumn::Kind;

constexpr int kColumnGap = 2;
constexpr int kMinText = 8;  // a column of text is not cut below this
constexpr int kMostText = 40;
constexpr int kBar = 10;

std::string number_text(const Number& number, const TableColumn& column, const Screen& screen) {
  if (!number.value) return "-";
  const double value = *number.value;
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
  std::string text = number.error                              ? with_error(value, *number.error, column.digits)
                     : column.kind == Kind::kLog10             ? logarithm(value)
                     : column.kind == Kind::kCount && is_whole ? fmt::format("{:.0f}", value)
                                                               : significant(value, column.digits);
  if (number.at_least) text.insert(0, ">=");
  return screen.text(text);
}

// The text beside a number: its range and its note.
std::string beside_number(const Number& number, const TableColumn& column, const Screen& screen) {
  std::string text;
  if (number.low && number.high) {
    const std::string from = significant(*number.low, column.digits), to = significant(*number.high, column.digits);
    if (from != to) text = screen.text(fmt::format("{}..{}", from, to));
  }
  if (!number.note.empty()) text += (text.empty() ? "" : " ") + screen.text(number.note);
  return text;
}

std::string cell_text(const Cell& cell, const TableColumn& column, const Screen& screen) {
  if (const auto* number = std::get_if<Number>(&cell)) return number_text(*number, column, screen);
  if (const auto* text = std::get_if<std::string>(&cell)) return screen.text(*text);
  if (const auto* badge = std::get_if<Badge>(&cell)) return screen.text(badge->text);
  return "";
}

Tone tone_of(const Cell& cell) {
  const auto* badge = std::get_if<Badge>(&cell);
  return badge ? badge->tone : Tone::kNeutral;
}

// A column as wide as its texts.
struct TextColumn {
  std::string name, group;
  std::vector<std::string> cells;
  bool left = false, dim = false;
  bool with_next = false;  // stays beside the one after it
  bool is_label = false;
  int width = 0;

  void add(std::string text) {
    width = std::max(width, display_width(text));
    cells.push_back(std::move(text));
  }
};

class GridWriter {
 public:
  GridWriter(const Table& table, std::size_t n_rows, Screen& screen) : table_(table), n_rows_(n_rows), screen_(screen) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].kind == Kind::kProse) {
        prose_ = c;
      } else {
        add_column(c);
      }
    }
    std::erase_if(columns_, [](const TextColumn& column) {
      return std::ranges::all_of(column.cells, [](const std::string& text) { return text.empty(); });
    });
  }

  void write() {
    if (columns_.empty() && prose_) piece(0, 0);
    // In a narrow column of its own prose would be many short lines: below its row it has the whole width.
    constexpr int kLeastProse = 32;
    const int all = width_of(true, 0, columns_.size()) + width_of(false, 0, columns_.size());
    below_ = prose_ && !columns_.empty() && screen_.options.width - all < kLeastProse && screen_.options.width < 80;
    squeeze();
    const int labels = width_of(true, 0, columns_.size());
    for (std::size_t first = 0; first < columns_.size();) {
      std::size_t last = first;
      for (int used = labels; last < columns_.size();) {
        const std::size_t end = end_of_unit(last, room() - labels + kColumnGap);
        const int more = width_of(false, last, end + 1);
        if (last > first && used + more - kColumnGap > room()) break;
        used += more;
        last = end + 1;
      }
      // If only labels remain, they have been shown already.
      const bool any = first == 0 || width_of(false, first, last) > 0;
      if (any) piece(first, last);
      first = last;
    }
  }

 private:
  void add_column(std::size_t c) {
    const TableColumn& column = table_.columns[c];
    TextColumn main;
    main.name = screen_.text(column.title);
    main.group = screen_.text(column.group);
    main.width = display_width(main.name);
    main.left = column.kind == Kind::kText;
    main.is_label = c < table_.n_labels;
    TextColumn beside;
    beside.group = main.group;
    beside.left = beside.dim = true;
    beside.is_label = main.is_label;
    TextColumn bars = beside;
    double largest = column.kind == Kind::kShare ? 1 : 0;
    for (std::size_t r = 0; r < n_rows_ && column.kind == Kind::kShare; ++r) {
      const auto* number = std::get_if<Number>(&table_.rows[r][c]);
      if (number && std::isfinite(number->value.value_or(0))) largest = std::max(largest, number->value.value_or(0));
    }
    for (std::size_t r = 0; r < n_rows_; ++r) {
      const Cell& cell = table_.rows[r][c];
      main.add(cell_text(cell, column, screen_));
      const auto* number = std::get_if<Number>(&cell);
      beside.add(number ? beside_number(*number, column, screen_) : "");
      const double fraction = number ? number->value.value_or(0) / std::max(largest, 1e-300) : 0;
      bars.add(column.kind == Kind::kShare ? bar(fraction, kBar, screen_.options.unicode) : "");
    }
    if (column.kind == Kind::kNumber || column.kind == Kind::kShare) align_points_of(main);
    if (column.kind == Kind::kText) main.width = std::min(main.width, kMostText);
    main.with_next = beside.width > 0 || bars.width > 0;
    columns_.push_back(std::move(main));
    if (bars.width > 0) columns_.push_back(std::move(bars));
    if (beside.width > 0) columns_.push_back(std::move(beside));
  }

  static void align_points_of(TextColumn& column) {
    const bool plain = std::ranges::all_of(column.cells, [](const std::string& text) {
      return text.find_first_not_of("0123456789.+-^x×") == std::string::npos;
    });
    if (!plain) return;
    align_points(column.cells);
    for (const std::string& text : column.cells) column.width = std::max(column.width, display_width(text));
  }

  int room() const {
    const int prose = screen_.options.width < 80 ? 24 : 30;  // at least, beside the columns
    return prose_ && !below_ ? std::max(20, screen_.options.width - prose) : screen_.options.width;
  }

  // The width of the labels, or of all other columns, in this range.
  int width_of(bool labels, std::size_t first, std::size_t last) const {
    int width = 0;
    for (std::size_t c = first; c < last; ++c) {
      if (columns_[c].is_label == labels) width += columns_[c].width + kColumnGap;
    }
    return width;
  }

  // The last of the columns that stay together: a number and what is beside it, a group that has room.
  std::size_t end_of_unit(std::size_t first, int room) const {
    std::size_t end = first;
    while (columns_[end].with_next && end + 1 < columns_.size()) ++end;
    const std::string& name = columns_[first].group;
    if (name.empty() || (first > 0 && columns_[first - 1].group == name)) return end;
    std::size_t group = end;
    while (group + 1 < columns_.size() && columns_[group + 1].group == name) ++group;
    return width_of(false, first, group + 1) <= room ? group : end;
  }

  // Cuts the widest texts until the table fits; where it will be in pieces, until the labels leave room for others.
  void squeeze() {
    int least = -kColumnGap;
    for (const TextColumn& column : columns_) {
      least += kColumnGap + (column.left && !column.dim ? std::min(column.width, kMinText) : column.width);
    }
    const bool in_pieces = table_.n_labels > 0 && least > room();
    const auto total = [&] {
      const int labels = width_of(true, 0, columns_.size());
      return labels + (in_pieces ? room() / 2 : width_of(false, 0, columns_.size()) - kColumnGap);
    };
    while (total() > room()) {
      TextColumn* widest = nullptr;
      for (TextColumn& column : columns_) {
        if (in_pieces && !column.is_label) continue;
        if (column.left && !column.dim && column.width > kMinText && (!widest || column.width > widest->width)) {
          widest = &column;
        }
      }
      if (!widest) return;
      widest->width -= std::min(widest->width - kMinText, total() - room());
    }
  }

  std::vector<const TextColumn*> shown(std::size_t first, std::size_t last) const {
    std::vector<const TextColumn*> out;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].is_label || (c >= first && c < last)) out.push_back(&columns_[c]);
    }
    return out;
  }

  void piece(std::size_t first, std::size_t last) {
    const std::vector<const TextColumn*> columns = shown(first, last);
    const bool with_prose = prose_ && last == columns_.size();
    groups(columns);
    std::string heading = cells_of(
        columns, [](const TextColumn& column) { return column.name; }, true, Tone::kNeutral);
    if (with_prose && !below_) {
      const std::string& title = table_.columns[*prose_].title;
      if (!title.empty())
        heading +=
            (heading.empty() ? "" : std::string(kColumnGap, ' ')) + screen_.paint(Colour::kBold, screen_.text(title));
    }
    const bool any_heading = std::ranges::any_of(table_.columns, [](const TableColumn& c) { return !c.title.empty(); });
    if (any_heading) screen_.line(heading);
    int used = 0;
    for (const TextColumn* column : columns) used += column->width + kColumnGap;
    for (std::size_t r = 0; r < n_rows_; ++r) {
      const Tone tone = with_prose ? tone_of(table_.rows[r][*prose_]) : Tone::kNeutral;
      std::string text = cells_of(
          columns, [r](const TextColumn& column) { return column.cells[r]; }, false, tone);
      if (!with_prose) {
        screen_.line(text);
        continue;
      }
      const std::string prose = cell_text(table_.rows[r][*prose_], table_.columns[*prose_], screen_);
      if (below_) {
        screen_.line(text);
        constexpr int kIndent = 4;
        for (const auto& part : wrap(prose, screen_.options.width - kIndent, screen_.options.unicode)) {
          screen_.line(std::string(kIndent, ' ') + part);
        }
        continue;
      }
      for (const auto& part : wrap(prose, std::max(20, screen_.options.width - used), screen_.options.unicode)) {
        screen_.line(text + (used > 0 ? std::string(kColumnGap, ' ') : "") + part);
        text.assign(static_cast<std::size_t>(std::max(0, used - kColumnGap)), ' ');
      }
    }
    screen_.out += '\n';
  }

  // The cells of a line, the first label in the colour of what is found.
  template <class TextOf>
  std::string cells_of(const std::vector<const TextColumn*>& columns, TextOf text_of, bool heading, Tone tone) const {
    std::string line;
    int used = 0;
    for (const TextColumn* column : columns) {
      const int width = std::min(column->width, screen_.options.width - used);
      if (width <= 0) break;
      if (used > 0) line += std::string(kColumnGap, ' ');
      const Colour colour = heading                                          ? Colour::kBold
                            : tone != Tone::kNeutral && column == columns[0] ? colour_of(tone)
                            : column->dim                                    ? Colour::kDim
                                                                             : Colour::kPlain;
      line += screen_.paint(
          colour, fit(text_of(*column), width, column->left ? Align::kLeft : Align::kRight, screen_.options.unicode));
      used += width + kColumnGap;
    }
    return line;
  }

  void groups(const std::vector<const TextColumn*>& columns) {
    std::string line;
    std::string_view before;
    int used = 0;
    for (const TextColumn* column : columns) {
      const int at = std::max(used, display_width(line) + (line.empty() ? 0 : 1));
      if (!column->group.empty() && column->group != before && at < screen_.options.width) {
        line += std::string(static_cast<std::size_t>(at - display_width(line)), ' ');
        line += fit(column->group, std::min(display_width(column->group), screen_.options.width - at), Align::kLeft,
                    screen_.options.unicode);
      }
      before = column->group;
      used += column->width + kColumnGap;
    }
    if (!line.empty()) screen_.line(screen_.paint(Colour::kBold, line));
  }

  const Table& table_;
  std::size_t n_rows_;
  Screen& screen_;
  std::vector<TextColumn> columns_;
  std::optional<std::size_t> prose_;
  bool below_ = false;  // whether prose stands below its row
};

// Labels, and below them what is said, a paragraph each.
void draw_records(const Table& table, std::size_t n_rows, Screen& screen) {
  for (std::size_t r = 0; r < n_rows; ++r) {
    std::string name;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Cell& cell = table.rows[r][c];
      if (c < table.n_labels) {
        name += (name.empty() ? "" : "  ") + cell_text(cell, table.columns[c], screen);
        if (c + 1 == table.n_labels) screen.title(name, "");
        continue;
      }
      const auto* text = std::get_if<std::string>(&cell);
      const auto* badge = std::get_if<Badge>(&cell);
      if (badge && !badge->text.empty()) screen.paragraph(badge->text, colour_of(badge->tone), 4);
      if (text && !text->empty() && table.columns[c].kind == Kind::kProse) {
        screen.paragraph(*text, c == table.n_labels ? Colour::kPlain : Colour::kDim, 4);
      }
    }
    screen.out += '\n';
  }
}

// Lines as words of a text; where the labels change a new paragraph begins.
void draw_running(const Table& table, std::size_t n_rows, Screen& screen) {
  std::string above, below, label;
  int used = 0;
  const auto flush = [&] {
    if (used == 0) return;
    screen.line(above);
    below.erase(below.find_last_not_of(' ') + 1);
    screen.line(screen.paint(Colour::kDim, below));
    above.clear();
    below.clear();
    used = 0;
  };
  for (std::size_t r = 0; r < n_rows; ++r) {
    const auto text = [&](std::size_t c) { return cell_text(table.rows[r][c], table.columns[c], screen); };
    if (r == 0 || text(0) != label) {
      flush();
      if (r > 0) screen.out += '\n';
      label = text(0);
      screen.title(label, "");
    }
    const std::string first = text(1), second = text(2);
    const int width = std::min(std::max(display_width(first), display_width(second)), screen.options.width);
    if (used > 0 && used + kColumnGap + width > screen.options.width) flush();
    if (used > 0) {
      above += std::string(kColumnGap, ' ');
      below += std::string(kColumnGap, ' ');
      used += kColumnGap;
    }
    above += fit(first, width, Align::kLeft, screen.options.unicode);
    below += fit(second, width, Align::kLeft, screen.options.unicode);
    used += width;
  }
  flush();
}

}  // namespace

void draw(const Table& table, Screen& screen) {
  if (table.rows.empty() || table.only_page) return;
  const std::size_t n = table.most > 0 ? std::min(table.most, table.rows.size()) : table.rows.size();
  if (!table.title.empty() || !table.about.empty()) {
    screen.title(table.title, table.about);
    screen.out += '\n';
  }
  const auto n_prose = std::ranges::count(table.columns, Kind::kProse, &TableColumn::kind);
  if (table.layout == Table::Layout::kRunning) {
    draw_running(table, n, screen);
  } else if (n_prose > 1) {
    draw_records(table, n, screen);
  } else {
    GridWriter(table, n, screen).write();
  }
  if (n < table.rows.size()) {
    screen.paragraph(fmt::format("Showing {} of {} lines.", n, table.rows.size()), Colour::kDim);
    screen.out += '\n';
  }
}

void draw(const Heat& heat, Screen& screen) {
  if (heat.only_drawn) return;
  constexpr std::size_t kMost = 200;  // more lines or columns say nothing
  std::set<double> xs, ys;
  std::map<std::pair<double, double>, std::optional<double>> values;
  for (const Heat::Value& value : heat.values) {
    if (xs.size() < kMost) xs.insert(value.x);
    if (ys.size() < kMost) ys.insert(value.y);
    values[{value.x, value.y}] = value.value;
  }
  Table table;
  table.title = heat.title;
  table.about = heat.about;
  const bool whole = std::ranges::all_of(xs, [](double x) { return x == std::floor(x); });
  table.columns.push_back({heat.x, whole ? Kind::kCount : Kind::kNumber});
  for (const double y : ys) table.columns.push_back({fmt::format("{}", y), Kind::kNumber, heat.y, 2});
  for (const double x : xs) {
    auto& row = table.rows.emplace_back();
    row.emplace_back(Number(x));
    for (const double y : ys) row.emplace_back(Number(values[{x, y}]));
  }
  draw(table, screen);
}

}  // namespace rankfall
