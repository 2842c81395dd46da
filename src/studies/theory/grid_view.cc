#include "studies/theory/grid_view.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/parse_number.h"
#include "result/manifest.h"
#include "studies/measure/answers.h"
#include "view/number_text.h"
#include "view/rows.h"
#include <rankfall/error.h>
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

constexpr double kCollapsedAt = -1;  // log10 of the relative residual: a tenth
constexpr std::string_view kGridMetric = "log10_relative_residual.composite";

using Values = std::map<std::pair<std::string_view, std::string_view>, double>;  // by model and variant

Values grid_values(const Result& result, std::string_view metric) {
  Values out;
  for (const Row& row : result.rows) {
    if (row.metric == metric && row.layer && finite(row.mean)) out[{row.model, row.variant}] = *row.mean;
  }
  return out;
}

// "layer 64" if all rows are of one.
std::string layer_words(const Result& result) {
  std::optional<Index> layer;
  for (const Row& row : result.rows) {
    if (!row.layer) continue;
    if (layer && *layer != *row.layer) return "the last layer";
    layer = row.layer;
  }
  return layer ? fmt::format("layer {}", *layer) : "the last layer";
}

Table grid_table(const Grid& grid, const std::vector<GridPoint>& points, const Names& variants, const Values& values,
                 const MetricInfo& metric) {
  Table table;
  table.about = metric.words + (metric.formula.empty() ? "" : ": " + metric.formula);
  for (const GridAxis& axis : grid.axes) table.columns.push_back({axis.key});
  table.n_labels = grid.axes.size();
  const auto kind = metric.is_log10() ? TableColumn::Kind::kLog10 : TableColumn::Kind::kNumber;
  for (const std::string& variant : variants.list()) table.columns.push_back({variant, kind});
  constexpr std::size_t kMostLines = 60;
  table.most = kMostLines;
  for (const GridPoint& point : points) {
    auto& line = table.rows.emplace_back();
    for (const std::string& value : point.values) line.emplace_back(value);
    for (const std::string& variant : variants.list()) {
      const auto found = values.find({point.text, variant});
      line.push_back(found == values.end() ? Cell() : Cell(Number(found->second)));
    }
  }
  return table;
}

// The values of an axis as numbers; nothing if some are words.
std::optional<std::vector<double>> axis_numbers(const GridAxis& axis) {
  std::vector<double> out;
  for (const std::string& value : axis.values) {
    const auto number = parse_number<double>(value);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

// Over one numeric axis a curve for each variant, over two a map of each; otherwise nothing.
std::vector<Node> drawn_grid(const Grid& grid, const Names& variants, const Values& values, const MetricInfo& metric) {
  std::vector<std::vector<double>> axes;
  for (const GridAxis& axis : grid.axes) {
    const auto numbers = axis_numbers(axis);
    if (!numbers) return {};
    axes.push_back(*numbers);
  }
  std::vector<Node> out;
  const auto value_at = [&](std::uint64_t point, const std::string& variant) {
    const auto found = values.find({grid.point(point).text, variant});
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  if (axes.size() == 1) {
    Curves curves;
    curves.x = grid.axes[0].key;
    curves.y = metric.words;
    curves.scale = metric.is_log10() ? Scale::kLog10 : Scale::kBoth;
    curves.wide = true;
    curves.log_x = axes[0].front() > 0 && axes[0].back() >= 16 * axes[0].front();
    for (const std::string& variant : variants.list()) {
      for (std::size_t i = 0; i < axes[0].size(); ++i) {
        Point& point = curves.points.emplace_back();
        point.x = axes[0][i];
        point.series = variant;
        point.value = value_at(i, variant);
      }
    }
    out.emplace_back(std::move(curves));
  }
  for (const std::string& variant : variants.list()) {
    if (axes.size() != 2) break;
    Heat heat;
    heat.title = variant;
    heat.x = grid.axes[0].key;
    heat.y = grid.axes[1].key;
    heat.value = metric.words;
    heat.logarithms = metric.is_log10();
    for (std::size_t i = 0; i < axes[0].size(); ++i) {
      for (std::size_t j = 0; j < axes[1].size(); ++j) {
        heat.values.push_back({axes[0][i], axes[1][j], value_at(i * axes[1].size() + j, variant)});
      }
    }
    out.emplace_back(std::move(heat));
  }
  return out;
}

// For each combination of the other axes' values, the first value of the first axis at which tokens agree to a tenth.
Sentences beginnings(const Grid& grid, const std::vector<GridPoint>& points, const Names& variants,
                     const Values& values) {
  Sentences out;
  const std::string& key = grid.axes.front().key;
  for (const std::string& variant : variants.list()) {
    std::vector<std::pair<std::string, std::optional<std::string>>> lines;  // other values; where it begins
    for (const GridPoint& point : points) {
      std::string others;
      for (std::size_t a = 1; a < grid.axes.size(); ++a) {
        others += fmt::format("{}{} = {}", others.empty() ? "" : ", ", grid.axes[a].key, point.values[a]);
      }
      auto line = std::ranges::find(lines, others, &std::pair<std::string, std::optional<std::string>>::first);
      if (line == lines.end()) line = lines.insert(line, {others, std::nullopt});
      const auto found = values.find({point.text, variant});
      if (!line->second && found != values.end() && found->second < kCollapsedAt) line->second = point.values[0];
    }
    for (const auto& [others, begins] : lines) {
      const std::string where = others.empty() ? "" : others + ": ";
      const std::string subject = variants.size() > 1 ? variant : "collapse";
      out.list.push_back({subject, begins ? Tone::kWarning : Tone::kGood,
                          begins ? fmt::format("{}begins at {} = {}", where, key, *begins)
                                 : fmt::format("{}no value of {} collapses", where, key)});
    }
  }
  return out;
}

}  // namespace

std::optional<Grid> grid_of(const Result& result) {
  const std::string text = text_of(result.manifest, "grid");
  if (text.empty()) return std::nullopt;
  try {
    Grid grid = parse_grid(text);
    constexpr std::uint64_t kMostShown = 100'000;
    if (grid.axes.empty() || grid.n_points > kMostShown) return std::nullopt;
    return grid;
  } catch (const Error&) {
    return std::nullopt;  // a file may say anything
  }
}

View grid_view(const Result& result, const Grid& grid, std::span<const std::string> metrics) {
  View view;
  view.about = input_words(result.manifest, "Predicted for");
  std::vector<GridPoint> points;
  for (std::uint64_t i = 0; i < grid.n_points; ++i) points.push_back(grid.point(i));
  Names variants;
  for (const Row& row : result.rows) {
    if (!row.variant.empty() && row.layer) variants.add(row.variant);
  }
  for (const std::string& metric : metrics) {
    const Values values = grid_values(result, metric);
    if (values.empty()) continue;
    const MetricInfo info = metric_info(metric);
    Figure figure;
    figure.id = "theory-grid-" + metric;
    std::ranges::replace_if(
        figure.id, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); }, '-');
    figure.title = fmt::format("{} networks, by {}", points.size(), [&] {
      std::vector<std::string> keys;
      for (const GridAxis& axis : grid.axes) keys.push_back(axis.key);
      return joined(keys);
    }());
    figure.caption = fmt::format("{} at {}.", title_case(info.words), layer_words(result));
    figure.series = variant_series(variants.list());
    figure.nodes = drawn_grid(grid, variants, values, info);
    Table table = grid_table(grid, points, variants, values, info);
    table.only_page = !figure.nodes.empty();  // a terminal has the drawn ones as tables
    figure.nodes.emplace_back(std::move(table));
    if (metric == kGridMetric) {
      figure.nodes.emplace_back(beginnings(grid, points, variants, values));
      figure.notes.emplace_back("Collapse begins where the relative residual falls below a tenth.");
      std::size_t n_collapsed = 0;
      for (const auto& [place, value] : values) n_collapsed += value < kCollapsedAt ? 1 : 0;
      const std::string where = layer_words(result);
      const std::string answer =
          n_collapsed == 0
              ? fmt::format("None of {} networks collapses: no relative residual falls below a tenth at {}.",
                            values.size(), where)
              : fmt::format("{} of {} networks collapse: their relative residual falls below a tenth at {}.",
                            n_collapsed, values.size(), where);
      view.answers.push_back({Question::kPredicted, answer, n_collapsed > 0 ? Tone::kWarning : Tone::kGood});
    }
    view.figures.push_back(std::move(figure));
  }
  return view;
}

}  // namespace rankfall
