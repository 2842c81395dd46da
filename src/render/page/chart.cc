#include "render/page/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "render/page/axis_labels.h"

namespace rankfall {
namespace {

constexpr std::string_view kSchema = "https://vega.github.io/schema/vega-lite/v6.json";

const std::array<std::vector<int>, 5> kSourceDashes = {std::vector<int>{1, 0}, {5, 3}, {2, 2}, {8, 3, 2, 3}, {1, 4}};

// Zooming needs a key, so that the page scrolls when the pointer is over a chart; panning is for the mouse only.
Json zoom() {
  return Json::parse(R"({"name": "zoom", "bind": "scales", "select": {"type": "interval",
    "zoom": "wheel![event.ctrlKey || event.metaKey]", "translate": "[mousedown, window:mouseup] > window:mousemove!"}})");
}

Json base(int height) {
  Json spec;
  spec["$schema"] = kSchema;
  spec["data"] = {{"name", "rows"}};
  spec["width"] = "container";
  spec["height"] = height;
  return spec;
}

Json encoding_of(const ChartAxis& axis, const char* type = "quantitative") {
  Json encoding = {{"field", axis.field}, {"type", type}, {"title", axis.title}};
  if (std::string_view(type) == "quantitative") {
    Json scale = {{"type", axis.scale}};
    if (axis.scale == "linear") scale["zero"] = axis.zero;
    if (axis.scale != "symlog") scale["nice"] = false;
    if (!axis.domain) scale["padding"] = 8;  // points at the edge are drawn whole
    if (axis.domain) scale["domain"] = {axis.domain->first, axis.domain->second};
    encoding["scale"] = scale;
  }
  Json look = Json::object();
  if (!axis.ticks.empty()) look["values"] = axis.ticks;
  if (!axis.format.empty()) look["format"] = axis.format;
  if (axis.whole) look["tickMinStep"] = 1;
  look["labelOverlap"] = "greedy";
  if (!axis.label.empty()) look["labelExpr"] = axis.label;
  if (!look.empty()) encoding["axis"] = look;
  return encoding;
}

Json tooltips(const std::vector<TooltipField>& fields) {
  Json out = Json::array();
  for (const TooltipField& field : fields) {
    // Titles become part of an expression, so they are the columns' names and never text from a file; the page shows
    // the columns' titles, and numbers as in its tables.
    out.push_back(
        {{"field", field.field}, {"title", field.field}, {"type", field.number ? "quantitative" : "nominal"}});
  }
  return out;
}

// By series; `look` says what of a series it is: colour, shape, dash.
template <class Look>
Json by_series(const std::vector<DrawnSeries>& series, const std::string& title, Look look) {
  Json names = Json::array(), looks = Json::array();
  for (const DrawnSeries& one : series) {
    names.push_back(one.name);
    looks.push_back(look(one));
  }
  return {{"field", "series"},
          {"type", "nominal"},
          {"title", title},
          {"scale", {{"domain", names}, {"range", looks}}},
          {"sort", nullptr}};
}

Json colour_of(const std::vector<DrawnSeries>& series, const std::string& title) {
  return by_series(series, title, [](const DrawnSeries& one) { return one.colour; });
}

Json shape_of(const std::vector<DrawnSeries>& series, const std::string& title) {
  return by_series(series, title, [](const DrawnSeries& one) { return one.shape; });
}

Json dash_of(const std::vector<DrawnSeries>& series, const std::string& title) {
  return by_series(series, title, [](const DrawnSeries& one) {
    return one.dash.empty() ? std::vector<int>{1, 0} : one.dash;
  });
}

// A curve that another one covers is wider, so that it is seen beneath it.
Json width_of(const std::vector<DrawnSeries>& series, const std::string& title) {
  Json out = by_series(series, title, [](const DrawnSeries& one) { return one.width; });
  out["scale"]["type"] = "ordinal";  // otherwise sizes are spread evenly between the first and the last
  return out;
}

Json floor_layer(const LineChart& chart, const Json& y) {
  Json high = y;
  high["field"] = "high";
  Json layers = Json::array();
  double shade = 0.10;
  for (const ChartFloor& floor : chart.floors) {
    Json values = Json::array({Json::object({{"low", floor.low}, {"high", floor.high}, {"name", floor.name}})});
    Json rect;
    rect["mark"] = {{"type", "rect"}, {"color", "#6B6B6B"}, {"opacity", shade}};
    rect["encoding"] = {{"y", high}, {"y2", {{"field", "low"}}}};
    Json text;
    text["mark"] = {{"type", "text"},
                    {"align", floor.left ? "left" : "right"},
                    {"baseline", "top"},
                    {"dx", floor.left ? 8 : -8},
                    {"dy", 5},
                    {"fontSize", 12},
                    {"fontStyle", "italic"}};
    text["encoding"] = {{"y", high}, {"text", {{"field", "name"}, {"type", "nominal"}}}};
    text["encoding"]["x"] = {{"value", floor.left ? Json(0) : Json("width")}};
    Json layer;
    layer["data"] = {{"values", std::move(values)}};
    layer["layer"] = Json::array({std::move(rect)});
    if (!floor.name.empty()) layer["layer"].push_back(std::move(text));
    layers.push_back(std::move(layer));
    shade += 0.09;
  }
  return layers;
}

Json label_layers(const LineChart& chart) {
  Json layers = Json::array();
  for (const EndLabel& label : chart.labels) {
    Json layer;
    // One empty datum for each: the text is a constant of the mark and never part of an expression.
    layer["data"] = {{"values", Json::array({Json::object({{"label", label.text}})})}};
    layer["mark"] = {{"type", "text"}, {"align", "left"},   {"baseline", "middle"}, {"dx", 9},
                     {"fontSize", 13}, {"fontWeight", 600}, {"clip", false},        {"color", label.colour}};
    layer["encoding"] = {
        {"x", {{"value", "width"}}}, {"y", {{"value", label.y}}}, {"text", {{"field", "label"}, {"type", "nominal"}}}};
    layers.push_back(std::move(layer));
  }
  return layers;
}

Json point_label_layers(const LineChart& chart, const Json& x, const Json& y) {
  Json layers = Json::array();
  for (const PointLabel& label : chart.point_labels) {
    Json layer;
    layer["transform"] = Json::array({{{"filter", {{"field", "series"}, {"equal", label.series}}}},
                                      {{"filter", {{"field", "x"}, {"equal", label.x}}}}});
    if (!label.source.empty()) {
      layer["transform"].push_back({{"filter", {{"field", "source"}, {"equal", label.source}}}});
    }
    layer["mark"] = {{"type", "text"},        {"align", label.align}, {"baseline", "middle"},
                     {"dx", label.dx},        {"dy", label.dy},       {"fontSize", 12},
                     {"color", label.colour}, {"fontWeight", 600},    {"opacity", {{"expr", "width < 700 ? 0 : 1"}}}};
    layer["encoding"] = {{"x", x}, {"y", y}, {"text", {{"field", "series"}, {"type", "nominal"}}}};
    layers.push_back(std::move(layer));
  }
  return layers;
}

Json dash_of_sources(const LineChart& chart) {
  Json range = Json::array();
  for (std::size_t i = 0; i < chart.sources.size(); ++i) range.push_back(kSourceDashes[i % kSourceDashes.size()]);
  return {{"field", chart.source_field},
          {"type", "nominal"},
          {"title", chart.source_title},
          {"legend", {{"columns", 2}}},
          {"scale", {{"domain", chart.sources}, {"range", range}}},
          {"sort", nullptr}};
}

}  // namespace

ChartAxis axis_of(std::string field, std::string title) {
  ChartAxis axis;
  axis.field = std::move(field);
  axis.title = std::move(title);
  return axis;
}

Json line_spec(const LineChart& chart) {
  Json spec = base(chart.height);
  const Json x = encoding_of(chart.x), y = encoding_of(chart.y), colour = colour_of(chart.series, chart.series_title);
  const bool by_source = !chart.sources.empty();
  Json layers = Json::array();
  for (Json& layer : floor_layer(chart, y)) layers.push_back(std::move(layer));
  const std::size_t first = layers.size();
  if (!chart.low.empty()) {
    Json low = y;
    low["field"] = chart.low;
    Json layer;
    layer["mark"] = chart.bars ? Json{{"type", "rule"}, {"strokeWidth", 1.5}, {"opacity", 0.8}}
                               : Json{{"type", "area"}, {"opacity", 0.15}};
    layer["encoding"] = {{"x", x}, {"y", low}, {"y2", {{"field", chart.high}}}, {"color", colour}};
    if (by_source) layer["encoding"]["detail"] = {{"field", chart.source_field}};
    layers.push_back(std::move(layer));
  }
  if (chart.lines) {
    Json layer;
    layer["mark"] = {{"type", "line"}, {"strokeWidth", 1.75}, {"strokeJoin", "round"}};
    if (!chart.width_field.empty()) {
      layer["mark"]["opacity"] = 0.7;
      layer["mark"]["interpolate"] = "monotone";
    }
    layer["encoding"] = {{"x", x}, {"y", y}, {"color", colour}};
    layer["encoding"]["strokeDash"] = by_source ? dash_of_sources(chart) : dash_of(chart.series, chart.series_title);
    if (!chart.order.empty()) layer["encoding"]["order"] = {{"field", chart.order}, {"type", "quantitative"}};
    if (!chart.detail.empty()) layer["encoding"]["detail"] = {{"field", chart.detail}};
    if (!chart.width_field.empty()) {
      layer["encoding"]["size"] = {{"field", chart.width_field},
                                   {"type", "quantitative"},
                                   {"legend", nullptr},
                                   {"scale", {{"type", "sqrt"}, {"range", {0.75, 9}}}}};
      layer["encoding"]["tooltip"] = tooltips(chart.tooltip);
    } else if (std::ranges::any_of(chart.series, &DrawnSeries::is_covered)) {
      layer["encoding"]["size"] = width_of(chart.series, chart.series_title);
    }
    layers.push_back(std::move(layer));
  }
  if (chart.points) {
    Json layer;
    layer["mark"] = {{"type", "point"}, {"filled", true}, {"size", chart.point_size}, {"opacity", 1}};
    layer["encoding"] = {{"x", x}, {"y", y}, {"color", colour}, {"tooltip", tooltips(chart.tooltip)}};
    layer["encoding"]["shape"] = shape_of(chart.series, chart.series_title);
    layers.push_back(std::move(layer));
  }
  if (chart.labels.empty()) layers[first]["params"] = Json::array({zoom()});
  for (Json& layer : label_layers(chart)) layers.push_back(std::move(layer));
  for (Json& layer : point_label_layers(chart, x, y)) layers.push_back(std::move(layer));
  spec["layer"] = std::move(layers);
  return spec;
}

Json box_spec(const BoxChart& chart) {
  Json spec = base(chart.height);
  Json x = encoding_of(chart.x, "ordinal"), y = encoding_of(chart.y), low = y;
  x["axis"]["labelAngle"] = 0;
  low["field"] = chart.low;
  const Json colour = colour_of(chart.series, chart.series_title);
  const Json beside = {{"field", "series"}, {"type", "nominal"}, {"sort", nullptr}};
  Json boxes;
  // The outline keeps a box visible whose quartiles are closer than a pixel.
  boxes["mark"] = {{"type", "bar"}, {"fillOpacity", 0.3}, {"strokeWidth", 1.25}};
  boxes["encoding"] = {{"x", x},
                       {"xOffset", beside},
                       {"y", low},
                       {"y2", {{"field", chart.high}}},
                       {"color", colour},
                       {"stroke", colour},
                       {"tooltip", tooltips(chart.tooltip)}};
  Json medians;
  medians["mark"] = {{"type", "tick"}, {"thickness", 2.5}};
  medians["encoding"] = {
      {"x", x}, {"xOffset", beside}, {"y", y}, {"color", colour}, {"tooltip", tooltips(chart.tooltip)}};
  spec["layer"] = Json::array({std::move(boxes), std::move(medians)});
  return spec;
}

Json bar_spec(const BarChart& chart) {
  Json spec = base(chart.height);
  spec["mark"] = {{"type", "bar"}};
  Json y = encoding_of(chart.y);
  y["scale"]["zero"] = true;
  Json x = encoding_of(chart.x, "ordinal");
  x["axis"]["labelAngle"] = 0;
  spec["encoding"] = {
      {"x", x}, {"y", y}, {"color", colour_of(chart.series, chart.series_title)}, {"tooltip", tooltips(chart.tooltip)}};
  return spec;
}

Json heat_spec(const HeatChart& chart) {
  Json spec = base(chart.height);
  spec["mark"] = {{"type", "rect"}};
  Json x = encoding_of(chart.x, "ordinal"), y = encoding_of(chart.y, "ordinal");
  x["axis"]["labelAngle"] = 0;
  x["axis"]["labelOverlap"] = true;
  y["axis"]["labelOverlap"] = true;
  x["scale"] = {{"domain", chart.columns}};
  y["scale"] = {{"domain", chart.lines}};
  const Json scale = {{"scheme", chart.diverging ? "purpleorange" : "viridis"}, {"domain", {chart.low, chart.high}}};
  spec["encoding"] = {{"x", x},
                      {"y", y},
                      {"color",
                       {{"field", chart.value},
                        {"type", "quantitative"},
                        {"title", chart.value_title},
                        {"legend", {{"labelExpr", linear_label()}, {"titleLimit", 320}, {"tickCount", 5}}},
                        {"scale", scale}}},
                      {"tooltip", tooltips(chart.tooltip)}};
  return spec;
}

}  // namespace rankfall
