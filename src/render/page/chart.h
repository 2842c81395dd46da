#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "render/page/panels.h"

// Vega-Lite specifications of the few kinds of charts there are. Their data is called "rows" and is put in elsewhere.

namespace rankfall {

struct ChartAxis {
  std::string field, title;
  std::string scale = "linear";  // linear, log, symlog
  std::vector<double> ticks;     // empty: the chart's choice
  std::string format;            // of d3; empty: the chart's choice
  std::string label;             // an expression for labels
  bool whole = false;            // ticks at whole numbers only
  std::optional<std::pair<double, double>> domain;
  bool zero = false;
};

// An axis of the field with that title, otherwise as usual.
ChartAxis axis_of(std::string field, std::string title);

struct TooltipField {
  std::string field;
  bool number = false;
};

// Values from `low` to `high` that an arithmetic does not resolve: shaded, and named inside.
struct ChartFloor {
  double low = 0, high = 0;
  std::string name;
  bool left = false;  // where the name stands
};

// A name at the right edge of the plot, `y` pixels below its top.
struct EndLabel {
  std::string text, colour;
  double y = 0;
};

// A name beside a point of the data, which goes when its series is hidden. dx and dy: pixels from the point.
struct PointLabel {
  std::string series, source, colour;
  double x = 0;
  double dx = 0, dy = 0;
  std::string align = "center";
};

struct LineChart {
  ChartAxis x, y;
  std::vector<DrawnSeries> series;
  std::string series_title;
  // A second distinction, by dashes and shapes: measured and published, say.
  std::string source_field, source_title;
  std::vector<std::string> sources;
  std::string low, high;  // fields of a band or of bars; empty: none
  bool bars = false;      // vertical bars instead of a band
  bool lines = true, points = true;
  std::string order;        // field by which points are joined; empty: by x
  std::string detail;       // one line for each value of this field, too
  std::string width_field;  // strokes as wide as this says
  std::vector<TooltipField> tooltip;
  std::vector<ChartFloor> floors;
  std::vector<EndLabel> labels;          // stand at fixed places, so that a chart that has them cannot be zoomed
  std::vector<PointLabel> point_labels;  // shown where there is room, that is not on a phone
  int height = 280;
  int point_size = 36;
};
Json line_spec(const LineChart& chart);

// Boxes from the lower to the upper quartile (fields low and high) with the median (the field of y) as a line; those of
// different series stand beside each other.
struct BoxChart {
  ChartAxis x, y;
  std::vector<DrawnSeries> series;
  std::string series_title, low, high;
  std::vector<TooltipField> tooltip;
  int height = 320;
};
Json box_spec(const BoxChart& chart);

struct BarChart {
  ChartAxis x, y;
  std::vector<DrawnSeries> series;
  std::string series_title;
  std::vector<TooltipField> tooltip;
  int height = 280;
};
Json bar_spec(const BarChart& chart);

struct HeatChart {
  ChartAxis x, y;
  std::vector<double> columns, lines;  // all places of x and of y, in order
  std::string value, value_title;
  bool diverging = false;    // about zero
  double low = 0, high = 1;  // the values of the first and the last colour
  std::vector<TooltipField> tooltip;
  int height = 280;
};
Json heat_spec(const HeatChart& chart);

}  // namespace rankfall
