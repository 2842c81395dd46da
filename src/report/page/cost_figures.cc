#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/page/curves.h"
#include "report/page/figures.h"
#include "report/table_text.h"

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;

struct Cost {
  std::string_view metric, title, y_title;
  double factor;   // from the row's unit to the chart's
  bool per_token;  // divided by n
};

constexpr Cost kCosts[] = {
    {"layer.seconds", "time per token", "microseconds per token", 1e6, true},
    {"mixing.seconds", "time per token without projections", "microseconds per token", 1e6, true},
    {"layer.memory_mb", "memory", "MB", 1, false},
    {"layer.gflop", "operations per token", "MFLOP per token", 1e3, true},
    {"layer.sequential", "steps that wait for each other", "steps", 1, false},
};

CurveChart cost_chart(const Rows& rows, const Cost& cost) {
  CurveChart chart;
  for (const Row* row : rows) {
    if (row->metric != cost.metric || row->tokens.value_or(0) < 1 || !row->mean || !(*row->mean > 0)) continue;
    CurvePoint point;
    point.x = static_cast<double>(*row->tokens);
    point.series = row->variant;
    point.n = row->n;
    point.note = fmt::to_string(row->verdict);
    set_band(point, *row);
    point.value = row->mean;
    const double factor = cost.per_token ? cost.factor / point.x : cost.factor;
    for (std::optional<double>* value : {&point.value, &point.low, &point.high}) {
      if (*value) **value *= factor;
    }
    chart.points.push_back(std::move(point));
  }
  return chart;
}

struct Column {
  std::string_view metric, kind, name, title;
};
constexpr Column kColumns[] = {{"layer.exponent", "seconds", "time", "time"},
                               {"mixing.exponent", "seconds", "mixing", "time without projections"},
                               {"layer.exponent", "memory", "memory", "memory"},
                               {"layer.exponent", "flops", "flops", "operations"}};

// Fits and what theory says, by kind.
Dataset exponents_of(const Result& result) {
  struct Exponents {
    std::array<std::optional<double>, std::size(kColumns)> values;
    std::string time, memory;
  };
  std::map<std::pair<std::string, std::string>, Exponents> found;
  std::vector<std::pair<std::string, std::string>> order;
  for (const Row& row : result.rows) {
    for (std::size_t c = 0; c < std::size(kColumns); ++c) {
      if (row.metric != kColumns[c].metric || row.kind != kColumns[c].kind) continue;
      const auto [place, is_new] = found.try_emplace({row.model, row.variant});
      if (is_new) order.emplace_back(row.model, row.variant);
      Exponents& of = place->second;
      of.values.at(c) = row.mean;
      if (row.metric == "layer.exponent") (row.kind == "memory" ? of.memory : of.time) = fmt::to_string(row.verdict);
    }
  }
  Dataset table;
  table.title = "exponents of n, fitted, and what theory says";
  table.columns = {{"model", "layer", Kind::kText}, {"kind", "kind", Kind::kText}};
  for (const Column& column : kColumns) {
    table.columns.push_back({std::string(column.name), std::string(column.title), Kind::kNumber});
  }
  table.columns.push_back({"time_theory", "time in theory", Kind::kText});
  table.columns.push_back({"memory_theory", "memory in theory", Kind::kText});
  for (const auto& place : order) {
    const Exponents& of = found.at(place);
    std::vector<PageCell> cells = {cell(place.first), place.second};
    for (const auto& value : of.values) cells.push_back(cell(value));
    cells.push_back(cell(of.time));
    cells.push_back(cell(of.memory));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// "full 1.95, linformer 1.02": of time, in the caption.
std::string exponent_words(const Result& result) {
  constexpr int kMostSaid = 12;
  std::string words;
  int n = 0;
  for (const Row& row : result.rows) {
    if (row.metric != "layer.exponent" || row.kind != "seconds" || !row.mean || !std::isfinite(*row.mean)) continue;
    if (++n > kMostSaid) break;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", row.variant, significant(*row.mean, 2));
  }
  return words;
}

}  // namespace

Figures cost_figures(const Result& result, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-costs";
  figure.title = "What a layer costs by kind of attention";
  figure.caption =
      "Time and operations per token, memory, and steps that must wait for each other, of one layer against the number "
      "of tokens n, both logarithmic. Attention over all pairs has time per token growing with n; a level curve is a "
      "cost that is linear in n.";
  Names models, kinds;
  std::map<std::string, Rows> rows;
  for (const Row& row : result.rows) {
    if (!row.metric.starts_with("layer.") && !row.metric.starts_with("mixing.")) continue;
    models.add(row.model);
    kinds.add(row.variant);
    rows[row.model].push_back(&row);
  }
  figure.series = numbered_series(kinds.list());
  for (const std::string& model : models.list()) {
    for (const Cost& cost : kCosts) {
      CurveChart chart = cost_chart(rows[model], cost);
      if (chart.points.empty()) continue;
      chart.title = models.list().size() > 1 ? fmt::format("{}: {}", model, cost.title) : std::string(cost.title);
      chart.x_title = "tokens n";
      chart.y_title = cost.y_title;
      chart.series_title = "kind";
      chart.series = figure.series;
      chart.log_x = chart.log_first = true;
      chart.description =
          fmt::format("{} of one layer against the number of tokens, one curve for each kind.", chart.title);
      figure.panels.push_back(curve_panel(std::move(chart)));
    }
  }
  if (const std::string words = exponent_words(result); !words.empty()) {
    figure.caption += fmt::format(" Fitted exponents of n in the whole time: {}.", words);
  }
  Dataset exponents = exponents_of(result);
  if (!exponents.rows.empty()) figure.tables.push_back(std::move(exponents));
  if (figure.panels.empty()) return plain_figures(result, context);
  return {std::move(figure)};
}

}  // namespace rankfall
