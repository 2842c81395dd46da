#include "report/plain_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "report/paint.h"
#include "report/screen_text.h"
#include "result/row.h"

namespace rankfall {
namespace {

constexpr int kGap = 2;
constexpr int kMinText = 8;  // a text column is not cut below this

struct PlainColumn {
  std::string name;
  std::vector<std::string> cells;
  bool is_text = false;
  int width = 0;
};

std::string cell_text(const CellValue& value, bool unicode) {
  if (const auto* text = std::get_if<std::string>(&value)) return screen_name(*text, unicode);
  if (const auto* i = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *i);
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *u);
  if (const auto* x = std::get_if<double>(&value)) return fmt::format("{:.6g}", *x);
  return "";
}

std::vector<PlainColumn> filled_columns(const std::vector<const Row*>& rows, bool unicode) {
  std::vector<PlainColumn> out;
  for (const Column& column : columns()) {
    PlainColumn plain{.name = std::string(column.name), .cells = {}};
    plain.width = display_width(plain.name);
    bool any = false;
    for (const Row* row : rows) {
      const CellValue value = column.get(*row);
      // `exact` is a number in text.
      plain.is_text |= std::holds_alternative<std::string>(value) && column.name != "exact";
      plain.cells.push_back(cell_text(value, unicode));
      plain.width = std::max(plain.width, display_width(plain.cells.back()));
      any |= !plain.cells.back().empty();
    }
    if (any) out.push_back(std::move(plain));
  }
  return out;
}

// The columns that say what a value is of, as opposed to the value.
bool is_label(const Column& column) {
  return column.name != "metric" && column.name != "mean" && column.name != "std" && column.name != "n";
}

std::string labels_of(const Row& row) {
  std::string key;
  for (const Column& column : columns()) {
    if (is_label(column)) key += cell_text(column.get(row), true) + '\x1f';
  }
  return key;
}

// What all names have in common, up to a dot.
std::size_t common_prefix(const std::vector<std::string>& names) {
  std::size_t n = names.front().rfind('.') + 1;
  while (n > 0 &&
         !std::ranges::all_of(names, [&](const auto& name) { return name.starts_with(names.front().substr(0, n)); })) {
    n = n < 2 ? 0 : names.front().rfind('.', n - 2) + 1;
  }
  return n;
}

// Rows that differ in metric and value only, side by side: a line for each, a column for each metric. Nothing when that
// would not be clearer: too many metrics, lines that lack most of them, values with more to say than a mean.
std::vector<PlainColumn> wide_columns(const std::vector<const Row*>& rows, bool unicode) {
  constexpr std::size_t kMostMetrics = 6;
  std::vector<std::string> metrics;
  std::vector<std::string> lines;
  std::vector<const Row*> first_rows;
  std::map<std::pair<std::string, std::string>, const Row*> values;
  for (const Row* row : rows) {
    if (row->std || !row->verdict.empty() || row->status != Status::kNone || !row->exact.empty() || !row->mean)
      return {};
    const std::string key = labels_of(*row);
    if (!values.emplace(std::pair(key, row->metric), row).second) return {};
    if (std::ranges::find(metrics, row->metric) == metrics.end()) metrics.push_back(row->metric);
    if (std::ranges::find(lines, key) == lines.end()) {
      lines.push_back(key);
      first_rows.push_back(row);
    }
  }
  if (metrics.size() < 2 || metrics.size() > kMostMetrics || 2 * rows.size() <= lines.size() * metrics.size())
    return {};
  std::vector<PlainColumn> out;
  for (PlainColumn& column : filled_columns(first_rows, unicode)) {
    const auto found = std::ranges::find_if(columns(), [&](const Column& c) { return c.name == column.name; });
    if (is_label(*found)) out.push_back(std::move(column));
  }
  const std::size_t prefix = common_prefix(metrics);
  if (prefix > 0) {
    out.push_back(
        {.name = "metric",
         .cells = std::vector<std::string>(lines.size(), screen_name(metrics[0].substr(0, prefix), unicode) + "*"),
         .is_text = true,
         .width = static_cast<int>(prefix) + 1});
  }
  for (const std::string& metric : metrics) {
    PlainColumn column{.name = screen_name(metric.substr(prefix), unicode), .cells = {}};
    column.width = display_width(column.name);
    for (const std::string& line : lines) {
      const auto found = values.find({line, metric});
      column.cells.push_back(found == values.end() ? "" : fmt::format("{:.3g}", *found->second->mean));
      column.width = std::max(column.width, display_width(column.cells.back()));
    }
    out.push_back(std::move(column));
  }
  return out;
}

int total_width(const std::vector<PlainColumn>& table) {
  int width = -kGap;
  for (const PlainColumn& column : table) width += column.width + kGap;
  return width;
}

// Cuts the widest text columns first; returns the names of columns that had to go.
std::vector<std::string> squeeze(std::vector<PlainColumn>& table, int width) {
  std::vector<std::string> dropped;
  while (total_width(table) > width && table.size() > 1) {
    PlainColumn* widest = nullptr;
    for (PlainColumn& column : table) {
      if (column.is_text && column.width > kMinText && (!widest || column.width > widest->width)) widest = &column;
    }
    if (widest) {
      widest->width -= std::min(widest->width - kMinText, total_width(table) - width);
    } else {
      dropped.insert(dropped.begin(), table.back().name);
      table.pop_back();
    }
  }
  if (!table.empty()) table.front().width = std::min(table.front().width, width);
  return dropped;
}

}  // namespace

std::string plain_table(const std::vector<const Row*>& rows, const TableOptions& options) {
  const Painter paint(options.colour);
  std::vector<PlainColumn> table = wide_columns(rows, options.unicode);
  if (table.empty()) table = filled_columns(rows, options.unicode);
  const std::size_t n_lines = table.empty() ? 0 : table.front().cells.size();
  std::string out;

  if (n_lines > 1) {
    std::string common;
    std::erase_if(table, [&](const PlainColumn& column) {
      const bool same =
          std::ranges::all_of(column.cells, [&](const auto& cell) { return cell == column.cells.front(); });
      if (same) common += fmt::format("{}{} {}", common.empty() ? "" : ", ", column.name, column.cells.front());
      return same;
    });
    if (!common.empty()) {
      for (const auto& line : wrap(common, options.width, options.unicode)) out += paint(Colour::kBold, line) + '\n';
      out += '\n';
    }
  }

  const std::vector<std::string> dropped = squeeze(table, options.width);
  const auto write_line = [&](Colour colour, const auto& cell_of) {
    std::string line;
    for (const PlainColumn& column : table) {
      if (&column != &table.front()) line.append(kGap, ' ');
      line += fit(cell_of(column), column.width, column.is_text ? Align::kLeft : Align::kRight, options.unicode);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += paint(colour, line) + '\n';
  };
  if (!table.empty()) {
    write_line(Colour::kBold, [](const PlainColumn& column) { return column.name; });
    for (std::size_t i = 0; i < n_lines; ++i) {
      write_line(Colour::kPlain, [i](const PlainColumn& column) { return column.cells[i]; });
    }
  }
  if (!dropped.empty()) {
    const std::string note = fmt::format("left out for want of width: {}", fmt::join(dropped, ", "));
    for (const auto& line : wrap(note, options.width, options.unicode)) out += paint(Colour::kDim, line) + '\n';
  }
  return out;
}

}  // namespace rankfall
