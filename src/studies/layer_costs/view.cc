#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/views.h"
#include "view/number_text.h"
#include "view/rows.h"

namespace rankfall {
namespace {

struct Cost {
  std::string_view metric, title, unit;
  double factor;   // from the row's unit to the chart's
  bool per_token;  // divided by n
};

constexpr std::array<Cost, 5> kCosts = {{
    {"layer.seconds", "time per token", "microseconds per token", 1e6, true},
    {"mixing.seconds", "time per token without projections", "microseconds per token", 1e6, true},
    {"layer.memory_mb", "memory", "MB", 1, false},
    {"layer.gflop", "operations per token", "MFLOP per token", 1e3, true},
    {"layer.sequential", "steps that wait for each other", "steps", 1, false},
}};

struct CostExponent {
  std::string_view metric, kind, title;
};
constexpr std::array<CostExponent, 4> kExponents = {{{"layer.exponent", "seconds", "time"},
                                                     {"mixing.exponent", "seconds", "mixing"},
                                                     {"layer.exponent", "memory", "memory"},
                                                     {"layer.exponent", "flops", "operations"}}};

Curves cost_curves(const Rows& rows, const Cost& cost) {
  Curves curves;
  for (const Row* row : rows) {
    if (row->metric != cost.metric || row->tokens.value_or(0) < 1 || !(finite(row->mean).value_or(0) > 0)) continue;
    Point point = point_of(*row, static_cast<double>(*row->tokens), row->variant);
    const double factor = cost.per_token ? cost.factor / point.x : cost.factor;
    for (std::optional<double>* value : {&point.value, &point.low, &point.high}) {
      if (*value) *value = finite(**value * factor);
    }
    curves.points.push_back(std::move(point));
  }
  curves.title = cost.title;
  curves.x = "tokens n";
  curves.y = cost.unit;
  curves.series_title = "kind";
  curves.scale = Scale::kLog;
  curves.band = Band::kDeviation;
  curves.log_x = curves.only_drawn = true;
  return curves;
}

// Lengths of all layers, at most `most` of them: the largest, and down from it all, every other, every third, ...
std::vector<Index> cost_lengths(const std::vector<RowGroup>& groups, std::size_t most) {
  std::set<Index, std::greater<>> all;
  for (const RowGroup& group : groups) {
    for (const Row* row : with_metric(group.rows, "layer.seconds")) {
      if (row->tokens.value_or(0) > 0 && row->mean) all.insert(*row->tokens);
    }
  }
  const std::size_t stride = (all.size() + most - 1) / most;
  std::vector<Index> lengths;
  std::size_t i = 0;
  for (const Index length : all) {
    if (i++ % stride == 0) lengths.push_back(length);
  }
  std::ranges::reverse(lengths);
  return lengths;
}

const Row* cost_row(const Rows& rows, std::string_view metric, std::string_view kind, std::optional<Index> tokens) {
  const auto found = std::ranges::find_if(rows, [&](const Row* row) {
    return row->metric == metric && row->kind == kind && row->tokens == tokens && finite(row->mean);
  });
  return found == rows.end() ? nullptr : *found;
}

// "linformer" of "linformer:k=64".
std::string layer_kind(const RowGroup& group) { return group.variant.substr(0, group.variant.find(':')); }

std::string theory_of(const RowGroup& group, std::string_view kind) {
  const Row* row = cost_row(group.rows, "layer.exponent", kind, std::nullopt);
  return row ? fmt::to_string(row->verdict) : "";
}

// A line for each layer.
Table cost_table(const std::vector<RowGroup>& groups, const std::vector<Index>& lengths) {
  using Kind = TableColumn::Kind;
  const Index largest = lengths.back();
  Table table;
  table.columns = {{"layer"}};
  for (const Index n : lengths) table.columns.push_back({fmt::format("{}", n), Kind::kNumber, "µs per token, n ="});
  table.columns.push_back({fmt::format("MB at {}", largest), Kind::kNumber});
  for (const CostExponent& one : kExponents) {
    table.columns.push_back({std::string(one.title), Kind::kNumber, "exponent of n"});
  }
  table.columns.push_back({"steps", Kind::kCount});
  table.columns.push_back({"time", Kind::kText, "in theory"});
  table.columns.push_back({"memory", Kind::kText, "in theory"});
  table.about = fmt::format(
      "exponent of n: fitted over the larger half of the lengths, with its standard error; mixing: of the time without "
      "the four projections that every kind of attention has, O(n d^2), which theory does not count; steps: how many "
      "must wait for one another at {} tokens",
      largest);
  std::map<std::string, int> n_of_kind;
  for (const RowGroup& group : groups) ++n_of_kind[layer_kind(group)];
  for (const RowGroup& group : groups) {
    const auto number = [&](std::string_view metric, Index n, double factor) {
      const Row* row = cost_row(group.rows, metric, "", n);
      return Number(row ? finite(*row->mean * factor) : std::nullopt);
    };
    // The kind alone where there is one of it.
    std::vector<Cell> cells = {n_of_kind[layer_kind(group)] > 1 ? group.variant : layer_kind(group)};
    for (const Index n : lengths) cells.emplace_back(number("layer.seconds", n, 1e6 / static_cast<double>(n)));
    cells.emplace_back(number("layer.memory_mb", largest, 1));
    for (const CostExponent& one : kExponents) {
      const Row* row = cost_row(group.rows, one.metric, one.kind, std::nullopt);
      Number exponent(row ? row->mean : std::nullopt);
      exponent.error = row ? finite(row->std) : std::nullopt;
      cells.emplace_back(std::move(exponent));
    }
    cells.emplace_back(number("layer.sequential", largest, 1));
    cells.emplace_back(theory_of(group, "seconds"));
    cells.emplace_back(theory_of(group, "memory"));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// The fastest kind at the largest number of tokens, beside full attention.
std::optional<Answer> cost_answer(const std::vector<RowGroup>& groups, const std::vector<Index>& lengths) {
  if (lengths.empty()) return {};
  const Index largest = lengths.back();
  const Row *fastest = nullptr, *full = nullptr;
  for (const RowGroup& group : groups) {
    const Row* row = cost_row(group.rows, "layer.seconds", "", largest);
    if (!row) continue;
    if (!fastest || *row->mean < *fastest->mean) fastest = row;
    if (layer_kind(group) == "full") full = row;
  }
  if (!fastest || groups.size() < 2) return {};
  const auto time = [&](const Row& row) {
    return significant(*row.mean * 1e6 / static_cast<double>(largest), 2) + " µs per token";
  };
  std::string text =
      fmt::format("At {} tokens, {} is the fastest layer: {}", largest, shortened(fastest->variant), time(*fastest));
  if (full && full != fastest) {
    text += fmt::format("; full attention takes {}, {} times as long", time(*full),
                        significant(*full->mean / *fastest->mean, 2));
  }
  return Answer{Question::kCosts, text + ".", Tone::kNeutral};
}

}  // namespace

View layer_costs_view(const Result& result, const ViewOptions& /*options*/) {
  Figure figure;
  figure.id = "costs";
  figure.title = "What a layer costs by kind of attention";
  figure.caption =
      "Time and operations per token, memory, and steps that must wait for each other, of one layer against the number "
      "of tokens n, both logarithmic. Attention over all pairs has time per token growing with n; a level curve is a "
      "cost that is linear in n.";
  Names kinds;
  std::map<std::string, std::vector<RowGroup>> groups;
  for (RowGroup& group : by_variant(result)) groups[group.model].push_back(std::move(group));
  const std::vector<RowGroup> models = by_model(result);
  for (const RowGroup& model : models) {
    const std::vector<RowGroup>& layers = groups.at(model.model);
    if (const std::vector<Index> lengths = cost_lengths(layers, 12); !lengths.empty()) {
      Table table = cost_table(layers, lengths);
      table.title =
          fmt::format("{}, {}cost of one layer by number of tokens n", model.model, precision_words(result.manifest));
      figure.nodes.emplace_back(std::move(table));
    }
    for (const Cost& cost : kCosts) {
      Curves curves = cost_curves(model.rows, cost);
      if (curves.points.empty()) continue;
      for (const Point& point : curves.points) kinds.add(point.series);
      if (models.size() > 1) curves.title = fmt::format("{}: {}", model.model, cost.title);
      figure.nodes.emplace_back(std::move(curves));
    }
  }
  figure.series = numbered_series(kinds.list());
  View view;
  for (const RowGroup& model : models) {
    const std::vector<RowGroup>& layers = groups.at(model.model);
    if (auto answer = cost_answer(layers, cost_lengths(layers, 12)); answer && view.answers.size() < 3) {
      view.answers.push_back(std::move(*answer));
    }
  }
  view.figures.push_back(std::move(figure));
  return view;
}

}  // namespace rankfall
