#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "render/page/chart.h"

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;

// Logarithms below this are drawn by the logarithm of the exponent.
constexpr double kDeepest = -30;

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(std::optional<double> value) {
    if (!value) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
};

Dataset points_of(const Curves& chart) {
  const bool sources = !chart.sources.empty();
  const bool bands = std::ranges::any_of(chart.points, [](const Point& p) { return p.low.has_value(); });
  const bool counts = std::ranges::any_of(chart.points, [](const Point& p) { return p.n.has_value(); });
  const bool notes = std::ranges::any_of(chart.points, [](const Point& p) { return !p.note.empty(); });
  const Kind value = chart.scale == Scale::kLog10 ? Kind::kLog10 : Kind::kNumber;
  Dataset data;
  data.title = chart.title.empty() ? chart.y : chart.title;
  data.columns = {{"series", chart.series_title, Kind::kText},
                  {"source", sources ? chart.source_title : "", Kind::kText},
                  {"x", chart.x, Kind::kNumber},
                  {"value", chart.y, value},
                  {"low", bands ? "from" : "", value},
                  {"high", bands ? "to" : "", value},
                  {"low_log", "", Kind::kNumber},
                  {"n", counts ? "n" : "", Kind::kNumber},
                  {"note", notes ? "note" : "", Kind::kText}};
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
    fields.push_back({column.name, column.kind == Kind::kNumber || column.kind == Kind::kLog10});
  }
  return fields;
}

// Whole numbers, nine at most; nothing where there are others.
std::vector<double> whole_ticks(const std::vector<Point>& points) {
  Extent extent;
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

Panel panel_of(const Curves& given, const std::vector<DrawnSeries>& series) {
  Curves chart = given;
  std::erase_if(chart.points, [&](const Point& p) {
    const bool is_total = chart.stacked && std::ranges::find(series, p.series, &DrawnSeries::name) == series.end();
    return !std::isfinite(p.x) || (chart.log_x && p.x <= 0) || is_total;
  });
  for (Point& p : chart.points) {
    if (p.value && !std::isfinite(*p.value)) p.value.reset();
    // Zero has no place on a logarithmic scale; the note says that it is one.
    if (chart.scale == Scale::kLog && p.status == Status::kExactlyZero) p.value.reset();
  }
  Panel panel;
  panel.title = chart.title;
  panel.description = fmt::format("{}{} over {}, one {} for each {}; the table has the values.", chart.y,
                                  chart.title.empty() ? "" : " of " + chart.title, chart.x,
                                  chart.stacked ? "bar" : "curve", chart.series_title);
  panel.wide = chart.wide;
  panel.data = points_of(chart);
  if (chart.stacked) {
    BarChart bars;
    bars.x = axis_of("x", chart.x);
    bars.y = axis_of("value", chart.y);
    bars.series = series;
    bars.series_title = chart.series_title;
    bars.tooltip = tooltip_of(panel.data);
    panel.views.emplace_back("bars", bar_spec(bars));
    return panel;
  }

  LineChart lines;
  lines.x = axis_of("x", chart.x);
  if (chart.log_x) lines.x.scale = "log";
  lines.x.ticks = chart.log_x ? log_ticks(chart.points) : whole_ticks(chart.points);
  lines.x.whole = !chart.log_x && !lines.x.ticks.empty();
  if (!lines.x.ticks.empty()) lines.x.format = "~d";  // rounds, so for whole ticks only
  lines.y = axis_of("value", chart.y);
  lines.y.domain = chart.domain;
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
  lines.tooltip = tooltip_of(panel.data);
  const bool bands = std::ranges::any_of(chart.points, [](const Point& p) { return p.low && p.high; });
  if (bands) lines.high = "high";

  Extent extent;
  bool positive = true, any = false;
  for (const Point& p : chart.points) {
    extent.add(p.value);
    positive = positive && p.value.value_or(1) > 0;
    any = any || p.value;
  }
  if (chart.scale == Scale::kLog10) {
    lines.low = bands ? "low" : "";
    LineChart powers = lines;
    if (chart.with_one) powers.y.zero = true;
    if (any) {
      const double high = chart.with_one ? std::max(extent.high, 0.0) : extent.high;
      const PowerTicks narrow = narrow_power_ticks(chart.with_one ? std::min(extent.low, 0.0) : extent.low, high);
      powers.y.ticks = narrow.ticks;
      powers.y.label = power_label(narrow.digits);
    }
    powers.y.whole = true;
    panel.views.emplace_back("powers of ten", line_spec(powers));
    if (any && (extent.low < kDeepest || chart.deep)) {  // doubly exponential curves need the logarithm of the exponent
      powers.y.scale = "symlog";
      powers.y.ticks = power_ticks(extent.low, extent.high);
      powers.y.label = power_label();
      powers.y.domain = {{1.3 * extent.low, std::max(extent.high, 0.0) + 0.5}};
      panel.views.insert(panel.views.begin(), {"log of the exponent", line_spec(powers)});
    }
    return panel;
  }
  LineChart linear = lines;
  linear.low = bands ? "low" : "";
  panel.views.emplace_back("linear", line_spec(linear));
  if (any && positive && chart.scale != Scale::kLinear) {
    LineChart log = lines;
    log.low = bands ? "low_log" : "";
    log.y.scale = "log";
    log.y.domain.reset();
    log.y.label = value_label();
    panel.views.insert(chart.scale == Scale::kLog ? panel.views.begin() : panel.views.end(), {"log", line_spec(log)});
  }
  return panel;
}

}  // namespace rankfall
