#include "report/plain_table.h"

#include <algorithm>
#include <cstddef>
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
  std::vector<PlainColumn> table = filled_columns(rows, options.unicode);
  std::string out;

  if (rows.size() > 1) {
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
    for (std::size_t i = 0; i < rows.size(); ++i) {
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
