#include "studies/theory/beside_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "view/rows.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

constexpr const char* kPredicted = "predicted";

std::vector<Point> predicted_points(const Result& result, const std::string& model, std::string_view metric) {
  std::vector<Point> out;
  const std::string name = fmt::format("predicted.{}", metric);
  for (const Row& row : result.rows) {
    if (row.model != model || row.metric != name || !row.layer) continue;
    out.push_back(point_of(row, static_cast<double>(*row.layer), row.variant));
    out.back().low = out.back().high = std::nullopt;
    out.back().source = kPredicted;
  }
  return out;
}

Table beside_table(const Result& result, const LayerCurves& of) {
  const MetricInfo text = metric_info(of.metric);
  const auto kind = text.is_log10() ? TableColumn::Kind::kLog10 : TableColumn::Kind::kNumber;
  std::map<std::pair<std::string, double>, double> predicted, measured;
  for (const Point& point : predicted_points(result, of.model, of.metric)) {
    if (point.value) predicted[{point.series, point.x}] = *point.value;
  }
  std::map<double, bool> layers;
  for (const Point& point : of.curves.points) {
    if (is_beside(point) || !point.value) continue;
    measured[{point.series, point.x}] = *point.value;
    layers[point.x] = true;
  }
  Table table;
  table.title = of.model;
  table.about = of.curves.about;
  table.columns = {{"layer", TableColumn::Kind::kCount}};
  Names variants;
  for (const std::string& variant : of.variants.list()) {
    for (const auto& [place, value] : predicted) {
      if (place.first == variant) variants.add(variant);
    }
  }
  for (const std::string& variant : variants.list()) {
    table.columns.push_back({"measured", kind, variant});
    table.columns.push_back({kPredicted, kind, variant});
  }
  for (const auto& [layer, known] : layers) {
    auto& line = table.rows.emplace_back();
    line.emplace_back(Number(layer));
    for (const std::string& variant : variants.list()) {
      for (const auto* values : {&measured, &predicted}) {
        const auto found = values->find({variant, layer});
        line.push_back(found == values->end() ? Cell() : Cell(Number(found->second)));
      }
    }
  }
  return table;
}

}  // namespace

void add_predicted(const Result& result, const std::string& model, std::string_view metric,
                   const std::string& measured_source, Curves& curves) {
  std::vector<Point> predicted = predicted_points(result, model, metric);
  if (predicted.empty()) return;
  if (curves.sources.empty()) {
    for (Point& point : curves.points) point.source = measured_source;
    curves.sources = {measured_source};
    curves.source_title = "source";
  }
  curves.sources.emplace_back(kPredicted);
  curves.points.insert(curves.points.end(), predicted.begin(), predicted.end());
}

std::optional<Figure> beside_figure(const Result& result, const std::vector<const LayerCurves*>& models, bool first) {
  Figure figure;
  figure.id = first ? "predicted" : "predicted-" + models.front()->metric;
  std::ranges::replace_if(
      figure.id, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); }, '-');
  figure.title = "Theory beside measurement";
  figure.caption = fmt::format(
      "{}, measured and as theory predicts it from the description of the network alone (random weights, infinite "
      "width).",
      title_case(metric_info(models.front()->metric).words));
  Sentences refused;
  for (const LayerCurves* of : models) {
    Table table = beside_table(result, *of);
    if (table.columns.size() > 1 && !table.rows.empty()) figure.nodes.emplace_back(std::move(table));
    for (const Row& row : result.rows) {
      if (!first || row.model != of->model || row.metric != "theory" || row.status != Status::kNotCarried) continue;
      refused.list.push_back({row.variant, Tone::kWarning, fmt::format("{}: {}", row.model, row.verdict)});
    }
  }
  if (!refused.list.empty()) figure.nodes.emplace_back(std::move(refused));
  if (figure.nodes.empty()) return std::nullopt;
  return figure;
}

}  // namespace rankfall
