#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "render/page/axis_labels.h"
#include "render/page/chart.h"
#include "render/page/curve_labels.h"

namespace rankfall {
namespace {

using ColumnKind = PageColumn::Kind;

bool is_boxes(const Curves& chart) { return chart.band == Band::kQuartiles && chart.error_bars; }

Dataset points_of(const Curves& chart) {
  const bool sources = !chart.sources.empty();
  const bool bands = std::ranges::any_of(chart.points, [](const Point& p) { return p.low.has_value(); });
  const bool counts = std::ranges::any_of(chart.points, [](const Point& p) { return p.n.has_value(); });
  const bool notes = std::ranges::any_of(chart.points, [](const Point& p) { return !p.note.empty(); });
  const ColumnKind value = chart.scale == Scale::kLog10 ? ColumnKind::kLog10 : ColumnKind::kNumber;
  Dataset data;
  data.title = chart.title.empty() ? chart.y : chart.title;
  data.columns = {{"series", chart.series_title, ColumnKind::kText},
                  {"source", sources ? chart.source_title : "", ColumnKind::kText},
                  {"x", chart.x, ColumnKind::kNumber},
                  {"value", chart.y, value},
                  {"low", bands ? "from" : "", value},
                  {"high", bands ? "to" : "", value},
                  {"low_log", "", ColumnKind::kNumber},
                  {"n", counts ? "n" : "", ColumnKind::kNumber},
                  {"note", notes ? "note" : "", ColumnKind::kText}};
  for (const Point& p : chart.points) {
    // A band that reaches zero has no place on a logarithmic scale: it begins at the value there.
    const auto low_log = p.low && *p.low > 0 ? p.low : p.low ? p.value : std::nullopt;
    data.rows.push_back({p.series, p.source, p.x, page_cell(p.value), page_cell(p.low), page_cell(p.high),
                         page_cell(low_log), page_cell(p.n), page_cell(p.note)});
  }
  return data;
}

std::vector<TooltipField> tooltip_of(const Dataset& data) {
  std::vector<TooltipField> fields;
  for (const PageColumn& column : data.columns) {
    if (column.title.empty()) continue;
    fields.push_back({column.name, column.kind == ColumnKind::kNumber || column.kind == ColumnKind::kLog10});
  }
  return fields;
}

// Whole numbers, nine at most; nothing where there are others.
std::vector<double> whole_ticks(const std::vector<Point>& points) {
  SharedRange extent;
  for (const Point& point : points) {
    if (point.x != std::floor(point.x)) return {};
    extent.add(point.x);
  }
  if (points.empty() || extent.high - extent.low > 1e9) return {};
  double step = 1;
  for (const double factor : {2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0, 2.0, 2.5, 2.0}) {  // 2, 5, 10, 20, 50 ...
    if ((extent.high - extent.low) / step <= 8) break;
    step *= factor;
  }
  step = std::max(1.0, std::floor(step));
  std::vector<double> ticks;
  for (double x = std::ceil(extent.low / step) * step; x <= extent.high && ticks.size() < 100; x += step)
    ticks.push_back(x);
  return ticks;
}

// 1, 2, 5, 10, 20 ... as far as the points go.
std::vector<double> log_ticks(const std::vector<Point>& points) {
  double largest = 1;
  for (const Point& point : points) largest = std::max(largest, point.x);
  std::vector<double> ticks;
  for (double power = 1; power <= largest; power *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      if (step * power <= largest) ticks.push_back(step * power);
    }
  }
  return ticks;
}

}  // namespace

void SharedRange::add(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return;
  low = std::min(low, *value);
  high = std::max(high, *value);
}

void SharedRange::add(const Curves& curves) {
  if (curves.stacked) {
    std::map<double, std::pair<double, double>> sums;  // of what is below and above zero
    for (const Point& p : curves.points) {
      if (p.value && std::isfinite(*p.value)) (*p.value < 0 ? sums[p.x].first : sums[p.x].second) += *p.value;
    }
    for (const auto& [x, sum] : sums) {
      add(sum.first);
      add(sum.second);
    }
    return;
  }
  for (const Point& p : curves.points) {
    if (curves.scale == Scale::kLog && p.status == Status::kExactlyZero) continue;
    add(p.value);
    add(p.low);
    add(p.high);
    positive = positive && p.value.value_or(1) > 0;
  }
}

Panel panel_of(const Curves& curves, const std::vector<DrawnSeries>& series) {
  SharedRange range;
  range.add(curves);
  return panel_of(curves, series, range);
}

namespace {

// Points that have a place on the axes.
Curves drawable(Curves chart, const std::vector<DrawnSeries>& series) {
  std::erase_if(chart.points, [&](const Point& p) {
    const bool is_total = chart.stacked && std::ranges::find(series, p.series, &DrawnSeries::name) == series.end();
    return !std::isfinite(p.x) || (chart.log_x && p.x <= 0) || is_total;
  });
  for (Point& p : chart.points) {
    if (p.value && !std::isfinite(*p.value)) p.value.reset();
    // Zero has no place on a logarithmic scale; the note says that it is one.
    if (chart.scale == Scale::kLog && p.status == Status::kExactlyZero) p.value.reset();
  }
  return chart;
}

Json stacked_spec(const Curves& chart, const std::vector<DrawnSeries>& series, const SharedRange& range,
                  const Dataset& data) {
  BarChart bars;
  bars.x = axis_of("x", chart.x);
  bars.y = axis_of("value", chart.y);
  bars.y.label = linear_label();
  if (range.any()) bars.y.domain = {{1.04 * std::min(range.low, 0.0), 1.04 * std::max(range.high, 0.0)}};
  bars.series = series;
  bars.series_title = chart.series_title;
  bars.tooltip = tooltip_of(data);
  return bar_spec(bars);
}

// Room above and below the outermost points; of a logarithmic axis as a factor.
std::pair<double, double> padded(double low, double high, double share) {
  const double room = high > low ? share * (high - low) : share * std::max(std::abs(high), 1e-300);
  return {low - room, high + room};
}
std::pair<double, double> padded_log(double low, double high) {
  const double factor = std::pow(std::max(high / low, 1.5), 0.04);
  return {low / factor, high * factor};
}

void add_views_of_logarithms(const Curves& chart, const std::vector<DrawnSeries>& series, const SharedRange& range,
                             LineChart lines, Panel& panel) {
  const auto finish = [&](LineChart& view) {
    if (chart.precisions && view.y.domain) view.floors = floors_of(*view.y.domain);
    // Less than the height of its name cannot be named.
    constexpr double kLeastHeight = 16;
    std::erase_if(view.floors, [&](const ChartFloor& floor) {
      const auto place = [&](double value) {
        return pixels_from_top(value, *view.y.domain, view.y.scale, view.height);
      };
      return place(floor.low) - place(floor.high) < kLeastHeight;
    });
    for (ChartFloor& floor : view.floors) floor.left = crosses_name(chart, floor, view);
    // The curves of these arithmetics run along the floors and would cross the names.
    if (chart.sources.size() > 1) {
      for (ChartFloor& floor : view.floors) floor.name.clear();
      if (!view.floors.empty()) {
        panel.note =
            "Shaded: below the rounding of float32 (light) and of float64 (dark), which only exact arithmetic sees.";
      }
    }
    if (chart.labelled && view.y.domain) view.labels = end_labels(chart, series, view);
  };
  LineChart powers = lines;
  if (chart.with_one) powers.y.zero = true;
  if (range.any()) {
    const double low = chart.with_one ? std::min(range.low, 0.0) : range.low;
    const double high = chart.with_one ? std::max(range.high, 0.0) : range.high;
    const PowerTicks narrow = narrow_power_ticks(low, high);
    powers.y.ticks = narrow.ticks;
    powers.y.label = power_label(narrow.digits);
    powers.y.domain = padded(low, high, 0.04);
  }
  powers.y.whole = true;
  LineChart deep = powers;
  finish(powers);
  panel.views.emplace_back("powers of ten", line_spec(powers));
  // Doubly exponential curves need the logarithm of the exponent.
  if (!range.any() || (range.low >= kDeepest && !chart.deep)) return;
  deep.y.scale = "symlog";
  deep.y.ticks = power_ticks(range.low, range.high);
  deep.y.label = power_label();
  deep.y.domain = {{1.3 * range.low, std::max(range.high, 0.0) + 0.5}};
  finish(deep);
  panel.views.insert(panel.views.begin(), {"log of the exponent", line_spec(deep)});
}

void add_boxes(const Curves& chart, const std::vector<DrawnSeries>& series, const SharedRange& range, Panel& panel) {
  BoxChart boxes;
  boxes.x = axis_of("x", chart.x);
  boxes.y = axis_of("value", chart.y);
  boxes.series = series;
  boxes.series_title = chart.series_title;
  boxes.tooltip = tooltip_of(panel.data);
  boxes.high = "high";
  if (!range.any()) return;
  if (chart.scale == Scale::kLog10) {
    boxes.low = "low";
    const PowerTicks narrow = narrow_power_ticks(range.low, range.high);
    boxes.y.ticks = narrow.ticks;
    boxes.y.label = power_label(narrow.digits);
    boxes.y.domain = padded(range.low, range.high, 0.04);
    boxes.y.whole = true;
    panel.views.emplace_back("powers of ten", box_spec(boxes));
    return;
  }
  BoxChart linear = boxes;
  linear.low = "low";
  linear.y.label = linear_label();
  linear.y.domain = chart.domain ? chart.domain : padded(range.low, range.high, 0.04);
  panel.views.emplace_back("linear", box_spec(linear));
  if (!range.positive || chart.scale == Scale::kLinear) return;
  boxes.low = "low_log";
  boxes.y.scale = "log";
  boxes.y.label = value_label();
  if (range.low > 0) boxes.y.domain = padded_log(range.low, range.high);
  panel.views.insert(chart.scale == Scale::kLog ? panel.views.begin() : panel.views.end(), {"log", box_spec(boxes)});
}

}  // namespace

Panel panel_of(const Curves& given, const std::vector<DrawnSeries>& series, const SharedRange& range) {
  const Curves chart = drawable(given, series);
  Panel panel;
  panel.title = chart.title;
  panel.description = fmt::format("{}{} over {}, one {} for each {}; the table has the values.", chart.y,
                                  chart.title.empty() ? "" : " of " + panel.title, chart.x,
                                  chart.stacked     ? "bar"
                                  : is_boxes(chart) ? "box"
                                                    : "curve",
                                  chart.series_title);
  panel.wide = chart.wide;
  panel.data = points_of(chart);
  if (chart.stacked) {
    panel.views.emplace_back("bars", stacked_spec(chart, series, range, panel.data));
    return panel;
  }
  if (is_boxes(chart) && chart.sources.size() < 2) {
    add_boxes(chart, series, range, panel);
    if (!panel.views.empty()) return panel;
  }

  LineChart lines;
  lines.x = axis_of("x", chart.x);
  if (chart.log_x) lines.x.scale = "log";
  lines.x.ticks = chart.log_x ? log_ticks(chart.points) : whole_ticks(chart.points);
  lines.x.whole = !chart.log_x && !lines.x.ticks.empty();
  if (lines.x.ticks.empty()) {
    lines.x.label = linear_label();
  } else {
    lines.x.format = "~d";  // rounds, so for whole ticks only
  }
  lines.y = axis_of("value", chart.y);
  lines.series = series;
  lines.series_title = chart.series_title;
  if (chart.sources.size() > 1) {
    lines.source_field = "source";
    lines.source_title = chart.source_title;
    lines.sources = chart.sources;
  }
  lines.bars = chart.error_bars;
  lines.points = chart.points.size() <= 6000;
  if (chart.points.size() > 150 * std::max<std::size_t>(series.size(), 1)) lines.point_size = 9;
  if (chart.labelled) lines.height = 380;
  lines.tooltip = tooltip_of(panel.data);
  const bool bands = std::ranges::any_of(chart.points, [](const Point& p) { return p.low && p.high; });
  if (bands) lines.high = "high";
  if (chart.scale == Scale::kLog10) {
    lines.low = bands ? "low" : "";
    add_views_of_logarithms(chart, series, range, std::move(lines), panel);
    return panel;
  }
  LineChart linear = lines;
  linear.low = bands ? "low" : "";
  linear.y.label = linear_label();
  linear.y.domain = chart.domain;
  if (!linear.y.domain && range.any()) linear.y.domain = padded(range.low, range.high, 0.04);
  constexpr std::size_t kFewest = 3, kMost = 16;
  const bool peaks = chart.wide && chart.log_x && chart.scale == Scale::kLinear && linear.y.domain;
  if (peaks && series.size() >= kFewest && series.size() <= kMost) {
    linear.y.domain->second += 0.1 * (linear.y.domain->second - linear.y.domain->first);  // room for names
    linear.height = 340;
    linear.point_labels = peak_labels(chart, series, linear);
  }
  panel.views.emplace_back("linear", line_spec(linear));
  // The lower end of a band may be below zero, which has no place there.
  SharedRange values;
  for (const Point& p : chart.points) values.add(p.value);
  if (values.any() && range.positive && chart.scale != Scale::kLinear) {
    LineChart log = lines;
    log.low = bands ? "low_log" : "";
    log.y.scale = "log";
    if (range.low > 0) log.y.domain = padded_log(range.low, range.high);
    log.y.label = value_label();
    panel.views.insert(chart.scale == Scale::kLog ? panel.views.begin() : panel.views.end(), {"log", line_spec(log)});
  }
  return panel;
}

}  // namespace rankfall
