#include "report/page/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(std::optional<double> value) {
    if (!value) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
};

Dataset dataset_of(const CurveChart& chart) {
  const bool sources = !chart.sources.empty();
  const bool bands = std::ranges::any_of(chart.points, [](const CurvePoint& p) { return p.low.has_value(); });
  const bool counts = std::ranges::any_of(chart.points, [](const CurvePoint& p) { return p.n.has_value(); });
  const bool notes = std::ranges::any_of(chart.points, [](const CurvePoint& p) { return !p.note.empty(); });
  const Kind value = chart.is_log10 ? Kind::kLog10 : Kind::kNumber;
  Dataset data;
  data.title = chart.title.empty() ? chart.y_title : chart.title;
  data.columns = {{"series", chart.series_title, Kind::kText},
                  {"source", sources ? chart.source_title : "", Kind::kText},
                  {"x", chart.x_title, Kind::kNumber},
                  {"value", chart.y_title, value},
                  {"low", bands ? "from" : "", value},
                  {"high", bands ? "to" : "", value},
                  {"low_log", "", Kind::kNumber},
                  {"n", counts ? "n" : "", Kind::kNumber},
                  {"note", notes ? "note" : "", Kind::kText}};
  for (const CurvePoint& p : chart.points) {
    // A band that reaches zero has no place on a logarithmic scale: it begins at the value there.
    const auto low_log = p.low && *p.low > 0 ? p.low : p.low ? p.value : std::nullopt;
    data.rows.push_back(
        {p.series, p.source, p.x, cell(p.value), cell(p.low), cell(p.high), cell(low_log), cell(p.n), cell(p.note)});
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
std::vector<double> whole_ticks(const std::vector<CurvePoint>& points) {
  Extent extent;
  for (const CurvePoint& point : points) {
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
std::vector<double> log_ticks(const std::vector<CurvePoint>& points) {
  double largest = 1;
  for (const CurvePoint& point : points) largest = std::max(largest, point.x);
  std::vector<double> ticks;
  for (double power = 1; power <= largest; power *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      if (step * power <= largest) ticks.push_back(step * power);
    }
  }
  return ticks;
}

}  // namespace

Panel curve_panel(CurveChart chart) {
  std::erase_if(chart.points, [](const CurvePoint& p) { return !std::isfinite(p.x); });
  for (CurvePoint& p : chart.points) {
    if (p.value && !std::isfinite(*p.value)) p.value.reset();
  }
  Panel panel;
  panel.title = chart.title;
  panel.description = chart.description;
  panel.wide = chart.wide;
  panel.data = dataset_of(chart);

  LineChart lines;
  lines.x = axis_of("x", chart.x_title);
  if (chart.log_x) lines.x.scale = "log";
  lines.x.ticks = chart.log_x ? log_ticks(chart.points) : whole_ticks(chart.points);
  lines.x.whole = !chart.log_x && !lines.x.ticks.empty();
  if (!lines.x.ticks.empty()) lines.x.format = "~d";  // rounds, so for whole ticks only
  lines.y = axis_of("value", chart.y_title);
  lines.y.domain = chart.domain;
  lines.series = chart.series;
  lines.series_title = chart.series_title;
  if (chart.sources.size() > 1) {
    lines.source_field = "source";
    lines.source_title = chart.source_title;
    lines.sources = chart.sources;
  }
  lines.bars = chart.bars;
  lines.lines = chart.lines;
  lines.points = chart.points.size() <= 6000;
  if (chart.points.size() > 150 * std::max<std::size_t>(chart.series.size(), 1)) lines.point_size = 9;
  lines.tooltip = tooltip_of(panel.data);
  const bool bands = std::ranges::any_of(chart.points, [](const CurvePoint& p) { return p.low && p.high; });
  if (bands) lines.high = "high";

  Extent extent;
  bool positive = true, any = false;
  for (const CurvePoint& p : chart.points) {
    extent.add(p.value);
    positive = positive && p.value.value_or(1) > 0;
    any = any || p.value;
  }
  if (chart.is_log10) {
    lines.low = bands ? "low" : "";
    LineChart powers = lines;
    if (chart.zero) powers.y.zero = true;
    if (any) {
      const double high = chart.zero ? std::max(extent.high, 0.0) : extent.high;
      const PowerTicks narrow = narrow_power_ticks(chart.zero ? std::min(extent.low, 0.0) : extent.low, high);
      powers.y.ticks = narrow.ticks;
      powers.y.label = power_label(narrow.digits);
    }
    powers.y.whole = true;
    panel.views.emplace_back("powers of ten", line_spec(powers));
    if (any && (extent.low < kDeep || chart.deep)) {  // doubly exponential curves need the logarithm of the exponent
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
  if (any && positive && !chart.only_linear) {
    LineChart log = lines;
    log.low = bands ? "low_log" : "";
    log.y.scale = "log";
    log.y.domain.reset();
    log.y.label = value_label();
    panel.views.insert(chart.log_first ? panel.views.begin() : panel.views.end(), {"log", line_spec(log)});
  }
  return panel;
}

void set_band(CurvePoint& point, const Row& row) {
  if (!row.mean || !row.std) return;
  point.low = *row.mean - *row.std;
  point.high = *row.mean + *row.std;
}

void drop_empty_series(Figure& figure) {
  std::set<std::string> drawn;
  for (const Panel& panel : figure.panels) {
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(panel.data.columns, name, &PageColumn::name) -
                                      panel.data.columns.begin());
    };
    const std::size_t series = column("series"), value = column("value");
    for (const auto& cells : panel.data.rows) {
      const bool empty = value < cells.size() && std::holds_alternative<std::monostate>(cells[value]);
      if (series < cells.size() && !empty) drawn.insert(std::get<std::string>(cells[series]));
    }
  }
  std::erase_if(figure.series, [&](const Series& series) { return !drawn.contains(series.name); });
}

void Names::add(const std::string& name) {
  if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
}

PageCell cell(std::optional<double> value) { return value && std::isfinite(*value) ? PageCell(*value) : PageCell(); }

PageCell cell(const std::string& text) { return text.empty() ? PageCell() : PageCell(text); }

}  // namespace rankfall
