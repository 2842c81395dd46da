#include <algorithm>
#include <variant>

#include "report/page/figures.h"
#include "result/row.h"

namespace rankfall {

Dataset rows_table(const std::vector<const Row*>& rows, const std::string& title) {
  Dataset data;
  data.title = title;
  std::vector<const Column*> used;
  for (const Column& column : columns()) {
    const auto present = [&](const Row* row) { return !std::holds_alternative<std::monostate>(column.get(*row)); };
    if (std::ranges::none_of(rows, present)) continue;
    used.push_back(&column);
    const bool text = std::ranges::any_of(
        rows, [&](const Row* row) { return std::holds_alternative<std::string>(column.get(*row)); });
    data.columns.push_back({std::string(column.name), std::string(column.name),
                            text ? PageColumn::Kind::kText : PageColumn::Kind::kNumber});
  }
  for (const Row* row : rows) {
    std::vector<PageCell> cells;
    for (const Column* column : used) {
      const CellValue value = column->get(*row);
      if (const auto* text = std::get_if<std::string>(&value)) {
        cells.emplace_back(*text);
      } else if (const auto* real = std::get_if<double>(&value)) {
        cells.emplace_back(*real);
      } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        cells.emplace_back(static_cast<double>(*whole));
      } else if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
        cells.emplace_back(static_cast<double>(*natural));
      } else {
        cells.emplace_back();
      }
    }
    data.rows.push_back(std::move(cells));
  }
  return data;
}

Figures plain_figures(const Result& result, const FigureContext& context) {
  Figures figures = measure_figures(result, context);
  Figure table;
  table.id = context.id + "-rows";
  table.title = "All rows";
  table.caption = "Every value of the result.";
  std::vector<const Row*> rows;
  for (const Row& row : result.rows) rows.push_back(&row);
  table.tables.push_back(rows_table(rows, "rows"));
  figures.push_back(std::move(table));
  return figures;
}

}  // namespace rankfall
