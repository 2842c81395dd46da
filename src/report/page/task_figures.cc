#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "report/page/curves.h"
#include "report/page/figures.h"
#include "report/table_text.h"

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;

std::string kind_title(const Row& row) {
  if (row.kind == "exact") return "all paths of the length, exact";
  if (row.kind == "cumulative") return "all paths up to the length";
  if (row.kind == "rerun") return fmt::format("{} paths, re-run as published", row.k.value_or(0));
  if (row.kind == "frozen") return fmt::format("{} paths of the decomposition", row.k.value_or(0));
  if (row.kind == "model") return "the whole network";
  if (row.kind == "baseline.majority") return "always the most frequent label";
  if (row.kind == "baseline.position") return "the most frequent label by position";
  if (row.kind == "ceiling.without_positions") return "ceiling without positions";
  return row.kind;
}

// The curves first, then what they are compared with: lines across, in grey.
std::vector<Series> effectiveness_series(std::vector<std::string> curves, const std::vector<std::string>& lines) {
  std::ranges::stable_sort(curves, {}, [](const std::string& name) { return !name.starts_with("all"); });
  std::vector<Series> series = numbered_series(curves);
  const std::vector<std::vector<int>> dashes = {{}, {2, 3}, {7, 4}, {10, 3, 2, 3}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Series line = numbered_series(lines[i], lines[i], 7);
    if (lines[i] == "the whole network") line.colour = "#000000";
    line.dash = dashes[i % dashes.size()];
    line.shape = "stroke";
    series.push_back(std::move(line));
  }
  return series;
}

}  // namespace

Figures effectiveness_figures(const Result& result, const FigureContext& context) {
  std::set<std::string> over_seeds;  // models that have rows over trainings
  for (const Row& row : result.rows) {
    if (!row.seed) over_seeds.insert(row.model);
  }
  std::map<std::string, CurveChart> charts;
  std::map<std::string, double> longest;
  Names models, curves, lines;
  std::map<std::string, Rows> flat;
  for (const Row& row : result.rows) {
    if (row.metric != "accuracy" || (row.seed && over_seeds.contains(row.model))) continue;
    models.add(row.model);
    (row.length ? curves : lines).add(kind_title(row));
    if (!row.length) {
      flat[row.model].push_back(&row);
      continue;
    }
    CurvePoint point;
    point.x = static_cast<double>(*row.length);
    point.series = kind_title(row);
    point.value = row.mean;
    point.n = row.n;
    set_band(point, row);
    longest[row.model] = std::max(longest[row.model], point.x);
    charts[row.model].points.push_back(std::move(point));
  }
  Figure figure;
  figure.id = context.id + "-lengths";
  figure.title = "Accuracy of paths of each length";
  figure.caption =
      "How well paths of one length alone do the task: the exact sum of all of them, and sets of random ones as "
      "published "
      "(re-run) and as they are in the network.";
  figure.series = effectiveness_series(curves.list(), lines.list());
  for (const std::string& model : models.list()) {
    CurveChart& chart = charts[model];
    for (const Row* row : flat[model]) {  // lines across
      for (const double x : {0.0, longest[model]}) {
        CurvePoint point;
        point.x = x;
        point.series = kind_title(*row);
        point.value = row->mean;
        point.n = row->n;
        chart.points.push_back(std::move(point));
      }
    }
    chart.title = model;
    chart.x_title = "path length";
    chart.y_title = "accuracy";
    chart.series_title = "paths";
    chart.series = figure.series;
    chart.only_linear = true;
    chart.domain = {0, 1.02};
    chart.description = fmt::format("Accuracy on {} by path length, one curve for each way to choose paths.", model);
    figure.panels.push_back(curve_panel(std::move(chart)));
  }
  if (figure.panels.empty()) return plain_figures(result, context);
  return {std::move(figure)};
}

Figures circle_figures(const Result& result, const FigureContext& context) {
  using Place = std::tuple<std::string, std::string, std::uint64_t>;  // model, variant, seed
  std::map<Place, std::map<std::pair<Index, Index>, std::pair<std::optional<double>, std::optional<double>>>> tracks;
  std::vector<Place> order;
  Names models, variants;
  std::map<std::string, std::set<std::uint64_t>> seeds;  // the smallest is drawn
  for (const Row& row : result.rows) {
    if (row.metric != "track.x" && row.metric != "track.y") continue;
    if (!row.step || !row.k) continue;
    seeds[row.model].insert(row.seed.value_or(0));
    const Place place{row.model, row.variant, row.seed.value_or(0)};
    auto& points = tracks[place];
    if (points.empty()) order.push_back(place);
    models.add(row.model);
    variants.add(row.variant);
    auto& point = points[{*row.k, *row.step}];
    (row.metric == "track.x" ? point.first : point.second) = row.mean;
  }
  if (order.empty()) return plain_figures(result, context);
  Figures figures;
  for (const std::string& model : models.list()) {
    Figure figure;
    figure.id = fmt::format("{}-tracks-{}", context.id, figures.size() + 1);
    figure.title =
        figures.empty() ? fmt::format("Two tracks under recurrence, {}", model) : fmt::format("Tracks, {}", model);
    figure.caption =
        "One block, trained to say the next point of each of two on a circle, applied to its own output again and "
        "again.";
    figure.collapsed = !figures.empty();
    if (seeds[model].size() > 1) {
      figure.notes.push_back(fmt::format("Seed {} of {} is drawn; the table under the distances has all.",
                                         *seeds[model].begin(), seeds[model].size()));
    }
    figure.series = {numbered_series("first point", "first point", 0),
                     numbered_series("second point", "second point", 1)};
    for (const Place& place : order) {
      const auto& [of_model, variant, of_seed] = place;
      if (of_model != model || of_seed != *seeds[model].begin()) continue;
      Panel panel;
      panel.title = variant;
      panel.square = true;
      panel.description = fmt::format("Tracks of the two points in the plane for {}.", variant);
      panel.data.title = variant;
      panel.data.columns = {{"series", "point", Kind::kText},
                            {"step", "step", Kind::kNumber},
                            {"x", "x", Kind::kNumber},
                            {"y", "y", Kind::kNumber}};
      double reach = 0;
      for (const auto& [key, point] : tracks.at(place)) {
        reach = std::max({reach, std::abs(point.first.value_or(0)), std::abs(point.second.value_or(0))});
        panel.data.rows.push_back({std::string(key.first == 0 ? "first point" : "second point"),
                                   static_cast<double>(key.second), cell(point.first), cell(point.second)});
      }
      LineChart chart;
      chart.x = axis_of("x", "x");
      chart.x.format = ".2~f";
      chart.y = axis_of("y", "y");
      chart.y.format = ".2~f";
      chart.x.domain = chart.y.domain = {{-1.1 * reach, 1.1 * reach}};
      chart.point_size = 9;
      chart.series = figure.series;
      chart.series_title = "track";
      chart.order = "step";
      chart.tooltip = {{"series", false}, {"step", true}, {"x", true}, {"y", true}};
      chart.height = 320;
      panel.views.emplace_back("plane", line_spec(chart));
      figure.panels.push_back(std::move(panel));
    }
    figures.push_back(std::move(figure));
  }
  Figure distance;
  distance.id = context.id + "-distance";
  distance.title = "Distance of the two tracks";
  distance.caption =
      "Two tracks that meet have become one token: the recurrence has collapsed. A curve ends where the distance is "
      "exactly 0.";
  distance.series = variant_series(variants.list());
  for (const std::string& model : models.list()) {
    CurveChart chart;
    chart.title = model;
    chart.x_title = "step";
    chart.y_title = "distance";
    chart.series = distance.series;
    chart.log_first = true;
    chart.description = fmt::format("Distance of the two tracks over steps for {}.", model);
    for (const Row& row : result.rows) {
      if (row.metric != "distance" || row.model != model || !row.step) continue;
      if (row.seed.value_or(0) != *seeds[model].begin()) continue;
      CurvePoint point;
      point.x = static_cast<double>(*row.step);
      point.series = row.variant;
      if (row.mean && *row.mean > 0) point.value = row.mean;  // 0 has no place on a logarithmic scale
      if (row.mean && *row.mean == 0) point.note = "exactly 0";
      chart.points.push_back(std::move(point));
    }
    if (!chart.points.empty()) distance.panels.push_back(curve_panel(std::move(chart)));
  }
  Dataset fates;
  fates.title = "what became of each network";
  fates.columns = {{"model", "network", Kind::kText},
                   {"variant", "variant", Kind::kText},
                   {"seed", "seed", Kind::kNumber},
                   {"verdict", "what is found", Kind::kText}};
  for (const Row& row : result.rows) {
    if (row.metric == "distance.left")
      fates.rows.push_back({row.model, row.variant, cell(row.seed), cell(fmt::to_string(row.verdict))});
  }
  if (!fates.rows.empty()) distance.tables.push_back(std::move(fates));
  figures.insert(figures.begin() + 1, std::move(distance));
  return figures;
}

// Whatever has steps, which are epochs, over these: losses, accuracies, and what --monitor saw of the last layer.
Figures training_figures(const Result& result, const FigureContext& context) {
  std::map<std::string, CurveChart> charts;
  Names metrics;
  std::map<std::string, Names> series;
  for (const Row& row : result.rows) {
    if (!row.step || !row.mean) continue;
    metrics.add(row.metric);
    CurveChart& chart = charts[row.metric];
    CurvePoint point;
    point.x = static_cast<double>(*row.step);
    point.series =
        fmt::format("{}{}{}{}", row.model, row.variant.empty() ? "" : " " + row.variant,
                    row.kind.empty() ? "" : " " + row.kind, row.layer ? fmt::format(" layer {}", *row.layer) : "");
    point.value = row.mean;
    series[row.metric].add(point.series);
    chart.points.push_back(std::move(point));
  }
  Figures figures;
  for (const std::string& metric : metrics.list()) {
    Figure figure;
    figure.id = fmt::format("{}-training-{}", context.id, figures.size() + 1);
    figure.title = metric + " during training";
    figure.caption = "By epochs done.";
    figure.collapsed = figures.size() >= 2;
    figure.series = numbered_series(series[metric].list());
    CurveChart& chart = charts[metric];
    chart.x_title = "epoch";
    chart.y_title = metric;
    chart.series_title = "curve";
    chart.series = figure.series;
    chart.wide = true;
    chart.description = fmt::format("{} over epochs of training.", metric);
    figure.panels.push_back(curve_panel(std::move(chart)));
    figures.push_back(std::move(figure));
  }
  if (figures.empty()) return plain_figures(result, context);
  return figures;
}

}  // namespace rankfall
