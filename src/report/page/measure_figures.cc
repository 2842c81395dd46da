#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "report/layer_block.h"
#include "report/metric_text.h"
#include "report/page/curves.h"
#include "report/page/figures.h"
#include "report/table_text.h"
#include "result/row.h"
#include "result/summary.h"

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;
constexpr std::string_view kMain[] = {"relative_residual.composite", "log10_relative_residual.composite"};

std::string title_of(const std::string& metric) {
  std::string words = metric_text(metric).words;
  if (!words.empty()) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words;
}

std::string y_title(const std::string& metric) {
  const MetricText text = metric_text(metric);
  if (!text.is_log10) return text.words;
  constexpr std::string_view kPrefix = "log10 of the ";
  return text.words.starts_with(kPrefix) ? text.words.substr(kPrefix.size()) : text.words;
}

// Curves of one metric of one model, with the published ones beside them.
struct MetricCurves {
  std::string model, metric;
  Names variants;
  std::vector<CurvePoint> points;
  bool published = false;
};

CurvePoint point_of(const Row& row, const std::string& series) {
  CurvePoint point;
  point.x = static_cast<double>(*row.layer);
  point.series = series;
  point.source = "rankfall";
  point.value = row.mean;
  point.n = row.n;
  point.note = row.verdict;
  set_band(point, row);
  return point;
}

std::vector<MetricCurves> curves_of(const Result& result, const Rows& rows) {
  std::vector<MetricCurves> out;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const Row* row : rows) {
    if (!is_layer_row(*row) || row->head || row->metric.starts_with("published.")) continue;
    const auto [place, is_new] = places.try_emplace({row->model, row->metric}, out.size());
    if (is_new) out.push_back({row->model, row->metric, {}, {}, false});
    MetricCurves& curves = out[place->second];
    curves.variants.add(row->variant);
    curves.points.push_back(point_of(*row, row->variant));
  }
  for (const Row& row : result.rows) {
    if (row.metric != "published.value" || !row.layer) continue;
    const auto place = places.find({row.model, "relative_residual.composite"});
    if (place == places.end()) continue;
    MetricCurves& curves = out[place->second];
    CurvePoint point = point_of(row, row.variant);
    point.source = "published";
    curves.points.push_back(std::move(point));
    curves.published = true;
  }
  return out;
}

CurveChart chart_of(const MetricCurves& curves) {
  const MetricText text = metric_text(curves.metric);
  CurveChart chart;
  chart.x_title = "layer";
  chart.y_title = y_title(curves.metric);
  chart.series = variant_series(curves.variants.list());
  chart.points = curves.points;
  chart.is_log10 = text.is_log10;
  if (text.is_share) {  // a band goes no further than what it is a band of
    for (CurvePoint& point : chart.points) {
      if (point.low && point.value.value_or(0) >= 0) point.low = std::max(*point.low, 0.0);
    }
  }
  if (text.is_share && !text.is_log10) {
    const bool inside = std::ranges::all_of(curves.points, [](const CurvePoint& p) {
      return p.value.value_or(0) >= 0 && std::max(p.value.value_or(0), p.high.value_or(0)) <= 1.05;
    });
    if (inside) chart.domain = {0, 1.05};
  }
  if (curves.published) {
    chart.sources = {"rankfall", "published"};
    chart.source_title = "source";
  }
  chart.description = fmt::format("Curves of the {} of {} over layers, one for each variant; the table has the values.",
                                  chart.y_title, curves.model);
  return chart;
}

std::vector<std::string> notes_of(const MetricCurves& curves) {
  std::vector<std::string> notes;
  const MetricText text = metric_text(curves.metric);
  if (!text.formula.empty()) notes.push_back(fmt::format("{}: {}.", title_of(curves.metric), text.formula));
  std::set<std::optional<Index>> n;
  bool floor = false, bands = false;
  for (const CurvePoint& point : curves.points) {
    if (point.source == "rankfall") n.insert(point.n);
    floor = floor || point.note == kRoundingFloor;
    bands = bands || point.low;
  }
  if (n.size() == 1 && *n.begin()) {
    notes.push_back(bands ? fmt::format("Bands: one standard deviation over n = {}.", **n.begin())
                          : fmt::format("n = {}.", **n.begin()));
  }
  if (floor)
    notes.emplace_back("At about 10⁻⁷ is the rounding floor of float32: noise of arithmetic, not the network.");
  return notes;
}

Figure main_figure(const std::vector<const MetricCurves*>& models, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-curves";
  figure.title = title_of(models.front()->metric) + " by layer";
  Names variants;
  bool published = false;
  for (const MetricCurves* curves : models) {
    for (const std::string& variant : curves->variants.list()) variants.add(variant);
    published = published || curves->published;
  }
  figure.caption = published ? "How much of each hidden state is not the same for all tokens, beside the published "
                               "curves (dashed), which are one unseeded draw of the weights each."
                             : "How much of each hidden state is not the same for all tokens; 0 is a matrix of rank 1.";
  if (!metric_text(models.front()->metric).is_relative_residual && !metric_text(models.front()->metric).is_log10) {
    figure.caption = "Over layers, one curve for each variant.";
  }
  figure.notes = notes_of(*models.front());
  figure.series = variant_series(variants.list());
  for (const MetricCurves* curves : models) {
    CurveChart chart = chart_of(*curves);
    chart.title = curves->model;
    chart.series = figure.series;
    figure.panels.push_back(curve_panel(std::move(chart)));
  }
  return figure;
}

// One panel for each variant, one curve for each model.
Figure side_by_side(const std::vector<const MetricCurves*>& models, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-compared";
  figure.title = "Models side by side";
  figure.caption = fmt::format("{} of each model, variant by variant.", title_of(models.front()->metric));
  Names variants;
  for (std::size_t m = 0; m < models.size(); ++m) {
    figure.series.push_back(numbered_series(models[m]->model, models[m]->model, m));
    for (const std::string& variant : models[m]->variants.list()) variants.add(variant);
  }
  for (const std::string& variant : variants.list()) {
    CurveChart chart = chart_of(*models.front());
    chart.title = variant;
    chart.series = figure.series;
    chart.series_title = "model";
    chart.sources.clear();
    chart.points.clear();
    for (const MetricCurves* curves : models) {
      for (CurvePoint point : curves->points) {
        if (point.series != variant || point.source != "rankfall") continue;
        point.series = curves->model;
        chart.points.push_back(std::move(point));
      }
    }
    figure.panels.push_back(curve_panel(std::move(chart)));
  }
  return figure;
}

// The last layer of each model over the number in its name: a series of training steps.
Figure series_figure(const std::vector<const MetricCurves*>& models, const std::vector<double>& numbers,
                     const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-series";
  figure.title = "From model to model";
  figure.caption =
      fmt::format("{} of the last layer, by the number in the models' names.", title_of(models[0]->metric));
  Names variants;
  CurveChart chart = chart_of(*models.front());
  chart.points.clear();
  chart.sources.clear();
  chart.x_title = "number in the name";
  for (std::size_t m = 0; m < models.size(); ++m) {
    std::map<std::string, const CurvePoint*> last;
    for (const CurvePoint& point : models[m]->points) {
      if (point.source != "rankfall") continue;
      const CurvePoint*& best = last[point.series];
      if (!best || best->x < point.x) best = &point;
      variants.add(point.series);
    }
    for (const auto& [variant, point] : last) {
      CurvePoint copy = *point;
      copy.x = numbers[m];
      chart.points.push_back(std::move(copy));
    }
  }
  std::ranges::stable_sort(chart.points, {}, &CurvePoint::x);
  chart.series = figure.series = variant_series(variants.list());
  chart.wide = true;
  figure.panels.push_back(curve_panel(std::move(chart)));
  return figure;
}

Figure other_measures(const std::string& model, const std::vector<const MetricCurves*>& metrics,
                      const FigureContext& context, std::size_t number) {
  Figure figure;
  figure.id = fmt::format("{}-other-{}", context.id, number);
  figure.title = fmt::format("Other measures of {}", model);
  figure.caption = "Every other metric of the result, over layers.";
  figure.collapsed = true;
  Names variants;
  for (const MetricCurves* curves : metrics) {
    for (const std::string& variant : curves->variants.list()) variants.add(variant);
  }
  figure.series = variant_series(variants.list());
  for (const MetricCurves* curves : metrics) {
    CurveChart chart = chart_of(*curves);
    const MetricText text = metric_text(curves->metric);
    chart.title = curves->metric;
    chart.series = figure.series;
    figure.panels.push_back(curve_panel(std::move(chart)));
    if (!text.formula.empty()) figure.notes.push_back(fmt::format("{}: {}.", curves->metric, text.formula));
  }
  return figure;
}

// Blocks by heads, for each metric that has heads.
Figures head_maps(const Rows& rows, const FigureContext& context) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, Rows>> maps;  // model, variant; metric
  std::vector<std::pair<std::string, std::string>> order;
  for (const Row* row : rows) {
    if (!is_layer_row(*row) || !row->head) continue;
    auto& metrics = maps[{row->model, row->variant}];
    if (metrics.empty()) order.emplace_back(row->model, row->variant);
    metrics[row->metric].push_back(row);
  }
  Figures figures;
  for (const auto& key : order) {
    Figure figure;
    figure.id = fmt::format("{}-heads-{}", context.id, figures.size() + 1);
    figure.title = fmt::format("Heads of {} {}", key.first, key.second);
    figure.caption = "Each head of each block; block and head count from zero.";
    figure.collapsed = true;
    for (const auto& [metric, of_metric] : maps.at(key)) {
      figure.panels.push_back(heat_panel(of_metric, metric));
      const MetricText text = metric_text(metric);
      if (!text.formula.empty()) figure.notes.push_back(fmt::format("{}: {}.", metric, text.formula));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace

Panel heat_panel(const Rows& rows, const std::string& metric) {
  Panel panel;
  panel.title = metric;
  panel.description = fmt::format("Heat map of {} by block and head; the table has the values.", metric);
  panel.data.title = metric;
  panel.data.columns = {
      {"block", "block", Kind::kNumber}, {"head", "head", Kind::kNumber}, {"value", metric, Kind::kNumber}};
  bool negative = false;
  double largest = 0;
  for (const Row* row : rows) {
    panel.data.rows.push_back({cell(row->layer), cell(row->head), cell(row->mean)});
    negative = negative || row->mean.value_or(0) < 0;
    largest = std::max(largest, std::abs(row->mean.value_or(0)));
  }
  HeatChart chart;
  chart.x = axis_of("block", "block");
  chart.y = axis_of("head", "head");
  chart.value = "value";
  chart.value_title = metric_text(metric).is_share ? "share" : "value";
  chart.diverging = negative;
  if (largest > 0) chart.largest = largest;
  chart.tooltip = {{"block", true}, {"head", true}, {"value", true}};
  panel.views.emplace_back("map", heat_spec(chart));
  return panel;
}

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
    data.columns.push_back({std::string(column.name), std::string(column.name), text ? Kind::kText : Kind::kNumber});
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

std::vector<double> numbers_of(const std::vector<std::string>& models) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::set<std::string> stems;
  std::set<double> numbers;
  std::vector<double> out;
  for (const std::string& model : models) {
    std::size_t end = model.size();
    while (end > 0 && !is_digit(model[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && is_digit(model[begin - 1])) --begin;
    double number = 0;
    if (begin == end || end - begin > 15) return {};
    std::from_chars(model.data() + begin, model.data() + end, number);
    stems.insert(model.substr(0, begin) + '\0' + model.substr(end));
    numbers.insert(number);
    out.push_back(number);
  }
  if (stems.size() != 1 || numbers.size() != models.size() || models.size() < 3) return {};
  return out;
}

Figures measure_figures(const Result& result, const FigureContext& context) {
  const Rows rows = summary_rows(result);
  const std::vector<MetricCurves> all = curves_of(result, rows);
  std::string main;
  for (const MetricCurves& curves : all) {
    const auto is_main = [&](std::string_view name) { return curves.metric == name; };
    if (main.empty() && std::ranges::any_of(kMain, is_main)) main = curves.metric;
  }
  if (main.empty() && !all.empty()) main = all.front().metric;
  std::vector<const MetricCurves*> models;
  for (const MetricCurves& curves : all) {
    if (curves.metric == main) models.push_back(&curves);
  }
  Figures figures;
  if (!models.empty()) {
    std::vector<std::string> names;
    names.reserve(models.size());
    for (const MetricCurves* curves : models) names.push_back(curves->model);
    if (const auto numbers = numbers_of(names); !numbers.empty()) {
      figures.push_back(series_figure(models, numbers, context));
    }
    if (context.compares && models.size() > 1) figures.push_back(side_by_side(models, context));
    figures.push_back(main_figure(models, context));
  }
  for (std::size_t m = 0; m < models.size(); ++m) {
    std::vector<const MetricCurves*> others;
    for (const MetricCurves& curves : all) {
      if (curves.model == models[m]->model && curves.metric != main) others.push_back(&curves);
    }
    if (!others.empty()) figures.push_back(other_measures(models[m]->model, others, context, m + 1));
  }
  for (Figure& figure : head_maps(rows, context)) figures.push_back(std::move(figure));
  return figures;
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
