#include <algorithm>
#include <map>
#include <set>
#include <variant>

#include <fmt/format.h>

#include "result/row.h"
#include "result/summary.h"
#include "studies/layer_curves.h"
#include "studies/views.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

using Kind = TableColumn::Kind;

Cell cell_of(const CellValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* real = std::get_if<double>(&value)) return Number(*real);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return Number(static_cast<double>(*whole));
  if (const auto* natural = std::get_if<std::uint64_t>(&value)) return Number(static_cast<double>(*natural));
  return {};
}

// The columns that say what a value is of, as opposed to the value.
bool is_label(const Column& column) {
  return column.name != "metric" && column.name != "mean" && column.name != "std" && column.name != "n";
}

bool has_value(const Row* row, const Column& column) {
  return !std::holds_alternative<std::monostate>(column.get(*row));
}

TableColumn column_of(const Column& column, const Rows& rows) {
  TableColumn out{std::string(column.name)};
  out.digits = 6;
  if (column.name == "verdict") {
    out.kind = Kind::kProse;
  } else if (std::ranges::none_of(
                 rows, [&](const Row* row) { return std::holds_alternative<std::string>(column.get(*row)); })) {
    const bool real = column.name == "mean" || column.name == "std";
    out.kind = real ? Kind::kNumber : Kind::kCount;
  }
  return out;
}

// A line for each row, the columns that have values; those with one value throughout are said once, above.
Table all_columns(const Rows& rows) {
  Table table;
  table.n_labels = 0;
  table.rows.resize(rows.size());
  std::string common;
  for (const Column& column : columns()) {
    if (std::ranges::none_of(rows, [&](const Row* row) { return has_value(row, column); })) continue;
    const CellValue first = column.get(*rows.front());
    const bool same =
        rows.size() > 1 && std::ranges::all_of(rows, [&](const Row* row) { return column.get(*row) == first; });
    if (same && column.name != "verdict") {
      const auto* text = std::get_if<std::string>(&first);
      const auto* real = std::get_if<double>(&first);
      const Cell cell = cell_of(first);
      common += fmt::format("{}{} {}", common.empty() ? "" : ", ", column.name,
                            text   ? *text
                            : real ? significant(*real, 6)
                                   : fmt::format("{:.0f}", *std::get<Number>(cell).value));
      continue;
    }
    table.columns.push_back(column_of(column, rows));
    for (std::size_t r = 0; r < rows.size(); ++r) table.rows[r].push_back(cell_of(column.get(*rows[r])));
  }
  table.about = common;
  return table;
}

// Everything that says what the row is of.
std::vector<CellValue> labels_of(const Row& row) {
  std::vector<CellValue> out;
  for (const Column& column : columns()) {
    if (is_label(column)) out.push_back(column.get(row));
  }
  return out;
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
Table metric_columns(const Rows& rows) {
  constexpr std::size_t kMostMetrics = 6;
  Names metrics;
  std::map<std::vector<CellValue>, std::size_t> places;
  std::vector<std::map<std::string, const Row*>> lines;
  for (const Row* row : rows) {
    const bool plain = !row->std && row->verdict.empty() && row->status == Status::kNone && row->exact.empty();
    if (!plain || !row->mean) return {};
    metrics.add(row->metric);
    if (metrics.size() > kMostMetrics) return {};
    const auto [place, is_new] = places.try_emplace(labels_of(*row), lines.size());
    if (is_new) lines.emplace_back();
    if (!lines[place->second].emplace(row->metric, row).second) return {};
  }
  if (metrics.size() < 2 || 2 * rows.size() <= lines.size() * metrics.size()) return {};
  Rows first;
  for (const auto& line : lines) first.push_back(line.begin()->second);
  Table table;
  table.n_labels = 0;
  table.rows.resize(lines.size());
  std::string common;
  for (const Column& column : columns()) {
    if (!is_label(column) || std::ranges::none_of(first, [&](const Row* row) { return has_value(row, column); }))
      continue;
    const CellValue value = column.get(*first.front());
    const auto* text = std::get_if<std::string>(&value);
    if (text && first.size() > 1 &&
        std::ranges::all_of(first, [&](const Row* row) { return column.get(*row) == value; })) {
      common += fmt::format("{}{} {}", common.empty() ? "" : ", ", column.name, *text);
      continue;
    }
    table.columns.push_back(column_of(column, first));
    ++table.n_labels;
    for (std::size_t r = 0; r < first.size(); ++r) table.rows[r].push_back(cell_of(column.get(*first[r])));
  }
  const std::size_t prefix = common_prefix(metrics.list());
  if (prefix > 0)
    common += fmt::format("{}metric {}*", common.empty() ? "" : ", ", metrics.list()[0].substr(0, prefix));
  table.about = common;
  for (const std::string& metric : metrics.list()) {
    table.columns.push_back({metric.substr(prefix), Kind::kNumber});
    for (std::size_t r = 0; r < lines.size(); ++r) {
      const auto found = lines[r].find(metric);
      table.rows[r].push_back(found == lines[r].end() ? Cell() : Cell(Number(found->second->mean)));
    }
  }
  return table;
}

}  // namespace

View plain_view(const Result& result, const ViewOptions& options) {
  Rows rows = summary_rows(result);
  if (!options.metrics.empty()) {
    std::erase_if(
        rows, [&](const Row* row) { return std::ranges::find(options.metrics, row->metric) == options.metrics.end(); });
  }
  View view;
  const std::vector<LayerCurves> all = layer_curves(rows);
  if (!all.empty()) {
    Figure figure;
    figure.id = "layers";
    figure.title = "By layer";
    Names variants;
    for (const LayerCurves& of : all) {
      for (const std::string& variant : of.variants.list()) variants.add(variant);
      figure.nodes.emplace_back(of.curves);
    }
    figure.series = variant_series(variants.list());
    view.figures.push_back(std::move(figure));
    for (Figure& map : head_maps(rows)) view.figures.push_back(std::move(map));
  }
  std::erase_if(rows, [](const Row* row) { return is_layer_row(*row); });
  if (!rows.empty()) {
    Figure figure;
    figure.id = "rows";
    figure.title = all.empty() ? "All values" : "Other values";
    Table table = metric_columns(rows);
    figure.nodes.emplace_back(table.rows.empty() ? all_columns(rows) : std::move(table));
    view.figures.push_back(std::move(figure));
  }
  return view;
}

}  // namespace rankfall
