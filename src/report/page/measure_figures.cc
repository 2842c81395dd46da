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
#include "result/averaging.h"
#include "result/row.h"
#include "result/summary.h"

namespace rankfall {
namespace {

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
  bool over_seeds = false;
};

CurvePoint point_of(const Row& row, const std::string& series) {
  CurvePoint point;
  point.x = static_cast<double>(*row.layer);
  point.series = series;
  point.source = "rankfall";
  point.value = row.mean;
  point.n = row.n;
  point.note = fmt::to_string(row.verdict);
  point.at_floor = row.status == Status::kRoundingFloor;
  set_band(point, row);
  return point;
}

std::vector<MetricCurves> curves_of(const Result& result, const Rows& rows) {
  std::vector<MetricCurves> out;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (const Row* row : rows) {
    if (!is_layer_row(*row) || row->head || row->metric.starts_with("published.")) continue;
    const auto [place, is_new] = places.try_emplace({row->model, row->metric}, out.size());
    if (is_new) out.push_back({row->model, row->metric, {}, {}, false, row->kind == "seeds"});
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

std::vector<std::string> notes_of(const MetricCurves& curves, const std::string& precision) {
  std::vector<std::string> notes;
  const MetricText text = metric_text(curves.metric);
  if (!text.formula.empty()) notes.push_back(fmt::format("{}: {}.", title_of(curves.metric), text.formula));
  std::set<std::optional<Index>> n;
  bool floor = false, bands = false;
  for (const CurvePoint& point : curves.points) {
    if (point.source == "rankfall") n.insert(point.n);
    floor = floor || point.at_floor;
    bands = bands || point.low;
  }
  if (n.size() == 1 && *n.begin()) {
    notes.push_back(fmt::format("Each point is the {} over {} {}{}{}.", words_of(averaging_of(curves.metric)),
                                **n.begin(), curves.over_seeds ? "seed" : "sample", **n.begin() == 1 ? "" : "s",
                                bands ? "; bands are one standard deviation" : ""));
  }
  if (floor) {
    notes.push_back(fmt::format(
        "Values that the table notes as rounding floor are noise of {}arithmetic, not the network.", precision));
  }
  return notes;
}

Figure main_figure(const std::vector<const MetricCurves*>& models, const std::string& precision,
                   const FigureContext& context) {
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
  figure.notes = notes_of(*models.front(), precision);
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

}  // namespace

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
    figures.push_back(main_figure(models, precision_words(result.manifest), context));
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

}  // namespace rankfall
