#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "result/manifest.h"
#include "result/prose_format.h"
#include "result/summary.h"
#include "studies/layer_curves.h"
#include "studies/measure/answers.h"
#include "studies/numbers_of.h"
#include "studies/theory/beside_view.h"
#include "studies/views.h"
#include "view/number_text.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

constexpr std::string_view kMainMetric = "relative_residual.composite";
constexpr std::string_view kGeometricMetric = "geometric_relative_residual.composite";

bool is_main(std::string_view metric) { return metric == kMainMetric || metric == kGeometricMetric; }

// Whether the variants ran as the published code ran them, which is not as it labelled them.
bool is_as_published(const Result& result) {
  const ManifestValue* value = find(result.manifest, "as_published");
  const auto* flag = value ? std::get_if<bool>(value) : nullptr;
  return flag && *flag;
}

bool is_relative_residual(std::string_view metric) {
  return metric.starts_with("relative_residual.") || metric.starts_with("geometric_relative_residual.");
}

// The ends of the bootstrap intervals take the place of the deviations.
void add_intervals(const Result& result, LayerCurves& of) {
  std::map<std::pair<std::string_view, double>, std::pair<std::optional<double>, std::optional<double>>> ends;
  for (const Row& row : result.rows) {
    if (row.model != of.model || !row.layer || row.seed || row.metric.size() < of.metric.size()) continue;
    const bool low = row.metric == "interval_low." + of.metric, high = row.metric == "interval_high." + of.metric;
    if (!low && !high) continue;
    auto& place = ends[{row.variant, static_cast<double>(*row.layer)}];
    (low ? place.first : place.second) = finite(row.mean);
  }
  if (ends.empty()) return;
  const bool over_seeds = std::ranges::any_of(result.rows, [&](const Row& row) {
    return row.model == of.model && !row.seed && row.kind == "seeds" && row.metric.starts_with("interval_");
  });
  for (Point& point : of.curves.points) {
    const auto found = ends.find({point.series, point.x});
    point.low = found == ends.end() ? std::nullopt : found->second.first;
    point.high = found == ends.end() ? std::nullopt : found->second.second;
  }
  of.curves.band = Band::kInterval;
  of.curves.deviations = false;
  of.curves.mean = mean_of_points(of);
  of.curves.mean += fmt::format("{}low..high: 95 % interval, bootstrap over {}", of.curves.mean.empty() ? "" : ", ",
                                over_seeds ? "seeds and their samples" : "samples");
}

// The published curves beside ours.
void add_published(const Result& result, LayerCurves& of) {
  if (of.metric != kMainMetric) return;
  std::vector<Point> published;
  for (const Row& row : result.rows) {
    if (row.metric != "published.value" || row.model != of.model || !row.layer) continue;
    published.push_back(point_of(row, static_cast<double>(*row.layer), row.variant));
    published.back().source = "published";
  }
  if (published.empty()) return;
  for (Point& point : of.curves.points) point.source = "rankfall";
  of.curves.points.insert(of.curves.points.end(), published.begin(), published.end());
  of.curves.sources = {"rankfall", "published"};
  of.curves.source_title = "source";
}

std::vector<Series> series_of(const std::vector<const LayerCurves*>& all) {
  Names variants;
  for (const LayerCurves* of : all) {
    for (const std::string& variant : of->variants.list()) variants.add(variant);
  }
  return variant_series(variants.list());
}

Figure metric_figure(const std::vector<const LayerCurves*>& models, const std::string& precision) {
  const std::string& metric = models.front()->metric;
  const MetricInfo text = metric_info(metric);
  Figure figure;
  figure.id = metric == kMainMetric ? "curves" : "curves-" + metric;
  std::ranges::replace_if(
      figure.id, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); }, '-');
  figure.title = title_case(text.words) + " by layer";
  figure.series = series_of(models);
  const bool published = std::ranges::any_of(models, [](const LayerCurves* of) {
    return std::ranges::find(of->curves.sources, "published") != of->curves.sources.end();
  });
  figure.caption = published ? "Share of the hidden state that differs between tokens, beside the published curves "
                               "(dashed), which are one unseeded draw of the weights each."
                   : is_relative_residual(metric)
                       ? "Share of the hidden state that differs between tokens; 0 means that all tokens are identical "
                         "(rank 1)."
                       : "One curve per variant, over layers.";
  bool floor = false;
  for (const LayerCurves* of : models) {
    figure.nodes.emplace_back(of->curves);
    floor = floor ||
            std::ranges::find(of->curves.points, Status::kRoundingFloor, &Point::status) != of->curves.points.end();
    if (is_relative_residual(metric)) figure.nodes.emplace_back(findings(*of, precision));
  }
  if (std::ranges::any_of(models, [](const LayerCurves* of) { return of->curves.band == Band::kDeviation; })) {
    figure.notes.emplace_back("Bands are one standard deviation.");
  }
  if (floor) {
    figure.notes.push_back(
        fmt::format("Values marked as rounding floor are {}noise, not a property of the network.", precision));
  }
  return figure;
}

// One panel for each variant, one curve for each model.
Figure side_by_side(const std::vector<const LayerCurves*>& models) {
  Figure figure;
  figure.id = "compared";
  figure.title = "Models side by side";
  figure.caption =
      fmt::format("{} of each model, variant by variant.", title_case(metric_info(models.front()->metric).words));
  Names variants, names;
  for (const LayerCurves* of : models) {
    names.add(of->model);
    for (const std::string& variant : of->variants.list()) variants.add(variant);
  }
  figure.series = numbered_series(names.list());
  for (const std::string& variant : variants.list()) {
    Curves curves = models.front()->curves;
    curves.title = variant;
    curves.series_title = "model";
    curves.sources.clear();
    curves.points.clear();
    curves.only_drawn = true;
    for (const LayerCurves* of : models) {
      for (Point point : of->curves.points) {
        if (point.series != variant || is_beside(point)) continue;
        point.series = of->model;
        curves.points.push_back(std::move(point));
      }
    }
    figure.nodes.emplace_back(std::move(curves));
  }
  return figure;
}

// The last layer of each model over the number in its name: a series of training steps.
Figure from_model_to_model(const std::vector<const LayerCurves*>& models, const std::vector<double>& numbers) {
  Figure figure;
  figure.id = "series";
  figure.title = "From model to model";
  figure.caption = fmt::format("{} of the last layer, by training step (the number in the model's name).",
                               title_case(metric_info(models.front()->metric).words));
  Curves curves = models.front()->curves;
  curves.title.clear();
  curves.points.clear();
  curves.sources.clear();
  curves.x = "training step (number in the model name)";
  curves.only_drawn = true;  // the table of models says the same
  curves.wide = true;
  for (std::size_t m = 0; m < models.size(); ++m) {
    std::map<std::string, const Point*> last;
    for (const Point& point : models[m]->curves.points) {
      if (is_beside(point)) continue;
      const Point*& best = last[point.series];
      if (!best || best->x < point.x) best = &point;
    }
    for (const auto& [variant, point] : last) {
      curves.points.push_back(*point);
      curves.points.back().x = numbers[m];
    }
  }
  std::ranges::stable_sort(curves.points, {}, &Point::x);
  figure.series = series_of(models);
  figure.nodes.emplace_back(std::move(curves));
  return figure;
}

Figure other_measures(const std::string& model, const std::vector<const LayerCurves*>& metrics, std::size_t number) {
  Figure figure;
  figure.id = fmt::format("other-{}", number);
  figure.title = fmt::format("Other measures of {}", model);
  figure.caption = "Every other metric of the result, over layers.";
  figure.detail = true;
  figure.series = series_of(metrics);
  for (const LayerCurves* of : metrics) {
    Curves curves = of->curves;
    curves.title = metric_info(of->metric).words;
    figure.nodes.emplace_back(std::move(curves));
  }
  return figure;
}

// Networks whose gradients were asked for and not taken, and why.
Sentences gradient_refusals(const Result& result) {
  Sentences out;
  for (const Row& row : result.rows) {
    if (row.metric != "gradient" || row.status != Status::kNotCarried || row.seed) continue;
    out.list.push_back({row.variant, Tone::kWarning, fmt::format("{}: {}", row.model, row.verdict)});
  }
  return out;
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

View measure_view(const Result& result, const ViewOptions& options) {
  const Rows rows = summary_rows(result);
  std::vector<LayerCurves> all = layer_curves(rows);
  std::erase_if(all, [](const LayerCurves& of) { return of.metric.starts_with("interval_"); });
  for (LayerCurves& of : all) {
    add_intervals(result, of);
    add_published(result, of);
    add_predicted(result, of.model, of.metric, "measured", of.curves);
  }
  std::vector<std::string> shown = options.metrics;
  if (shown.empty()) {
    const auto has_main = std::ranges::find(all, kMainMetric, &LayerCurves::metric) != all.end();
    if (has_main) shown.emplace_back(kMainMetric);
    if (!has_main && !all.empty()) shown.push_back(all.front().metric);
  }
  View view;
  view.answers_last = is_as_published(result);
  Names models, metrics;
  for (const LayerCurves& of : all) {
    models.add(of.model);
    metrics.add(of.metric);
  }
  for (const std::string& metric : shown) {
    std::vector<const LayerCurves*> of_models;
    std::vector<std::string> names;
    for (const LayerCurves& of : all) {
      if (of.metric != metric) continue;
      of_models.push_back(&of);
      names.push_back(of.model);
    }
    if (of_models.empty()) continue;
    if (view.figures.empty()) {
      if (const auto numbers = numbers_of(names); !numbers.empty()) {
        view.figures.push_back(from_model_to_model(of_models, numbers));
      }
      if (of_models.size() > 1) view.figures.push_back(model_comparison(of_models));
      if (options.compares && of_models.size() > 1) view.figures.push_back(side_by_side(of_models));
    }
    const std::string precision = precision_words(result.manifest);
    if (is_main(metric) && view.answers.empty()) {
      view.answers = ablation_answers(of_models, precision);
      if (view.answers.empty()) {
        view.answers = collapse_answers(of_models, precision, is_as_published(result));
      } else {
        view.figures.push_back(ablation_figure(of_models, precision));
      }
    }
    view.figures.push_back(metric_figure(of_models, precision));
    if (metric == shown.front() || metric.starts_with("gradient.")) {
      auto beside = beside_figure(result, of_models, metric == shown.front());
      if (beside) view.figures.push_back(std::move(*beside));
    }
  }
  std::size_t number = 0;
  for (const std::string& model : models.list()) {
    std::vector<const LayerCurves*> others;
    for (const LayerCurves& of : all) {
      if (of.model == model && std::ranges::find(shown, of.metric) == shown.end()) others.push_back(&of);
    }
    ++number;
    if (!others.empty()) view.figures.push_back(other_measures(model, others, number));
  }
  for (Figure& figure : head_maps(rows)) view.figures.push_back(std::move(figure));
  if (Sentences refused = gradient_refusals(result); !refused.list.empty()) {
    Figure figure;
    figure.id = "gradient-not-carried";
    figure.title = "No gradients";
    figure.caption = "The derivative of these is not taken.";
    figure.nodes.emplace_back(std::move(refused));
    view.figures.push_back(std::move(figure));
  }
  const auto n_shown = std::ranges::count_if(
      metrics.list(), [&](const std::string& metric) { return std::ranges::find(shown, metric) != shown.end(); });
  if (static_cast<std::size_t>(n_shown) < metrics.size()) {
    view.notes.push_back(fmt::format("Showing {} of {}.", n_shown, counted(metrics.size(), "metric")));
  }
  return view;
}

}  // namespace rankfall
