#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/paint.h"
#include "report/path_tables.h"
#include "report/screen_text.h"
#include "report/table_text.h"

namespace rankfall {
namespace {

constexpr std::array<std::string_view, 9> kLevels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> kAsciiLevels = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};

// Everything about one architecture.
struct Counts {
  std::string name, shape;
  std::vector<const Row*> counts;  // by length
  std::vector<double> proportions, cumulative;
  const Row* total = nullptr;
  double mean = 0;
  std::vector<double> modes;
  std::string published;
};

std::vector<Counts> architectures(const Result& result) {
  std::vector<Counts> all;
  for (const Row& row : result.rows) {
    if (all.empty() || all.back().name != row.model || all.back().shape != row.variant) {
      all.emplace_back();
      all.back().name = row.model;
      all.back().shape = row.variant;
    }
    Counts& c = all.back();
    const double value = row.mean.value_or(0);
    if (row.metric == "paths.count") c.counts.push_back(&row);
    if (row.metric == "paths.proportion") c.proportions.push_back(value);
    if (row.metric == "paths.cumulative") c.cumulative.push_back(value);
    if (row.metric == "paths.total") c.total = &row;
    if (row.metric == "paths.mean_length") c.mean = value;
    if (row.metric == "paths.mode") c.modes.push_back(value);
    if (row.metric == "published.deviation") c.published = fmt::format("{:.0e}", value);
  }
  // A file may say anything.
  std::erase_if(all, [](const Counts& c) {
    const auto is_share = [](double x) { return x >= 0 && x <= 1; };
    return c.proportions.empty() || c.counts.size() != c.proportions.size() ||
           c.cumulative.size() != c.proportions.size() || !std::ranges::all_of(c.proportions, is_share) ||
           std::ranges::max(c.proportions) == 0;
  });
  return all;
}

std::string modes_of(const Counts& c) {
  std::string text;
  for (const double mode : c.modes) text += fmt::format("{}{}", text.empty() ? "" : " = ", mode);
  return text;
}

// Proportions over lengths 0..L in `width` columns, the highest full.
std::string small_plot(const std::vector<double>& proportions, int width, bool unicode) {
  std::vector<double> columns(static_cast<std::size_t>(std::min<Index>(width, static_cast<Index>(proportions.size()))));
  for (std::size_t k = 0; k < proportions.size(); ++k) {
    double& column = columns[k * columns.size() / proportions.size()];
    column = std::max(column, proportions[k]);
  }
  const double highest = *std::ranges::max_element(columns);
  std::string out;
  for (const double value : columns) {
    const auto level = static_cast<std::size_t>(std::lround(8 * value / highest));
    out += unicode ? kLevels.at(level) : kAsciiLevels.at(level);
  }
  return out;
}

std::string one(const Counts& c, const TableOptions& options) {
  LayerBlock block;
  block.model = c.name;
  block.metric = "paths.proportion";
  block.unit = "length";
  block.text_name = "paths";
  block.title = fmt::format("{}: paths by length, C(L,k) H^k of (H+1)^L = {}", c.shape,
                            c.total ? digits_text(c.total->exact, 24) : "");
  block.variants = {"share", "up to here"};
  block.cells.resize(2);
  for (std::size_t k = 0; k < c.proportions.size(); ++k) {
    block.layers.push_back(static_cast<Index>(k));
    block.texts.push_back(digits_text(c.counts[k]->exact, 24));
    for (std::size_t v = 0; v < 2; ++v) {
      LayerCell cell;
      cell.mean = v == 0 ? c.proportions[k] : c.cumulative[k];
      cell.n_rows = 1;
      block.cells[v].push_back(cell);
    }
  }
  TableText out(options);
  out.block(block);
  return out.text + fmt::format("mean length {}, most frequent {}\n", significant(c.mean), modes_of(c));
}

std::string many(const std::vector<Counts>& all, const TableOptions& options) {
  const Painter paint(options.colour);
  struct Line {
    std::array<std::string, 8> cells;
  };
  std::vector<Line> lines = {
      {{"architecture", "shape", "paths", "mean", "mode", "share", "of longest", "from Fig. 5"}}};
  for (const Counts& c : all) {
    const double most = *std::ranges::max_element(c.proportions);
    lines.push_back({{screen_name(c.name, options.unicode), c.shape, c.total ? digits_text(c.total->exact, 9) : "",
                      significant(c.mean), modes_of(c), significant(most), significant(c.proportions.back()),
                      c.published.empty() ? "-" : c.published}});
  }
  std::array<int, 8> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(line.cells[i]));
  }
  // What does not fit is left out from the end.
  std::size_t n_columns = widths.size();
  const auto width_of = [&](std::size_t n) {
    int width = -2;
    for (std::size_t i = 0; i < n; ++i) width += widths.at(i) + 2;
    return width;
  };
  while (n_columns > 3 && width_of(n_columns) > options.width) --n_columns;
  std::string out;
  for (const Line& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < n_columns; ++i) {
      text += fit(line.cells[i], widths[i], i < 2 ? Align::kLeft : Align::kRight, options.unicode) + "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += paint(&line == lines.data() ? Colour::kBold : Colour::kPlain, text) + '\n';
  }
  // The plots: one column a length, or several lengths a column.
  const int plot = std::max(8, options.width - widths[0] - 12);
  out += '\n' + paint(Colour::kBold, "share of all paths by length, 0 at the left, L at the right") + '\n';
  for (std::size_t a = 0; a < all.size(); ++a) {
    out += fmt::format("{}  0 {}{}{} {}\n", fit(lines[a + 1].cells[0], widths[0], Align::kLeft, options.unicode),
                       options.unicode ? "▕" : "|",
                       paint(Colour::kBar, small_plot(all[a].proportions, plot, options.unicode)),
                       options.unicode ? "▏" : "|", all[a].proportions.size() - 1);
  }
  return out;
}

}  // namespace

std::string count_tables(const Result& result, const TableOptions& options) {
  const std::vector<Counts> all = architectures(result);
  if (all.empty()) return "";
  if (all.size() == 1) return one(all[0], options);
  return many(all, options);
}

}  // namespace rankfall
