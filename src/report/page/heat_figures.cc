#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "report/layer_block.h"
#include "report/metric_text.h"
#include "report/page/curves.h"
#include "report/page/figures.h"
#include "report/table_text.h"

namespace rankfall {

Panel heat_panel(const Rows& rows, const HeatPanel& map) {
  Panel panel;
  panel.title = map.title;
  panel.description = fmt::format("Heat map of {} by {} and {}; the table has the values.", map.value, map.x, map.y);
  panel.data.title = map.value;
  panel.data.columns = {{map.x, map.x, PageColumn::Kind::kNumber},
                        {map.y, map.y, PageColumn::Kind::kNumber},
                        {"value", map.value, PageColumn::Kind::kNumber}};
  HeatChart chart;
  double largest = 0;
  for (const Row* row : rows) {
    panel.data.rows.push_back({cell(row->*map.x_of), cell(row->*map.y_of), cell(row->mean)});
    chart.diverging = chart.diverging || row->mean.value_or(0) < 0;
    largest = std::max(largest, std::abs(row->mean.value_or(0)));
  }
  if (largest > 0) chart.largest = largest;
  chart.x = axis_of(map.x, map.x);
  chart.y = axis_of(map.y, map.y);
  chart.value = "value";
  chart.value_title = map.value_title;
  chart.tooltip = {{map.x, true}, {map.y, true}, {"value", true}};
  panel.views.emplace_back("map", heat_spec(chart));
  return panel;
}

Panel head_panel(const Rows& rows, const std::string& metric) {
  HeatPanel map;
  map.title = map.value = metric;
  map.x = "block";
  map.y = "head";
  map.x_of = &Row::layer;
  map.y_of = &Row::head;
  map.value_title = metric_text(metric).is_share ? "share" : "value";
  return heat_panel(rows, map);
}

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
      figure.panels.push_back(head_panel(of_metric, metric));
      const MetricText text = metric_text(metric);
      if (!text.formula.empty()) figure.notes.push_back(fmt::format("{}: {}.", metric, text.formula));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace rankfall
