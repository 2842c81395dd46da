#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "io/utf8.h"
#include "report/row_text.h"
#include "result/row.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

// Quoted only where RFC 4180 asks for it. `outside`: what was not our own word is never a formula to a spreadsheet.
std::string csv_text(const std::string& text, bool outside) {
  std::string valid = valid_utf8(text);
  const bool formula = valid.size() > 1 && std::string_view("=+-@\t\r").find(valid.front()) != std::string_view::npos;
  if (outside && formula) valid.insert(0, 1, '\'');
  if (valid.find_first_of(",\"\r\n") == std::string::npos) return valid;
  std::string out = "\"";
  for (const char c : valid) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

struct CsvCell {
  bool outside;

  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const std::string& text) const { return csv_text(text, outside); }
  template <class T>
  std::string operator()(T number) const {
    return fmt::format("{}", number);  // a double: the shortest text that reads back to the same bits
  }
};

}  // namespace

std::string csv_header(const CsvColumns& columns) {
  std::string out;
  for (const Column* column : columns) {
    if (!out.empty()) out += ',';
    out += column->name;
  }
  return out + '\n';
}

std::string csv_line(const Row& row, const CsvColumns& columns) {
  std::string out;
  for (const Column* column : columns) {
    if (column != columns.front()) out += ',';
    const bool outside = column->name == "model" || column->name == "text";
    out += std::visit(CsvCell{outside}, column->get(row));
  }
  return out + '\n';
}

CsvColumns csv_columns(std::span<const Row> rows) {
  CsvColumns used;
  for (const Column& column : columns()) {
    const auto has_value = [&](const Row& row) { return !std::holds_alternative<std::monostate>(column.get(row)); };
    const bool stays = column.name == "metric" || column.name == "mean";
    if (stays || std::ranges::any_of(rows, has_value)) used.push_back(&column);
  }
  return used;
}

std::string to_csv(const Result& result) {
  const CsvColumns columns = csv_columns(result.rows);
  std::string out = csv_header(columns);
  for (const Row& row : result.rows) out += csv_line(row, columns);
  return out;
}

}  // namespace rankfall
