#include "render/page/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

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
  out["legend"] = nullptr;
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

namespace {

// An expression whose value is the text of `expression` raised: "-12" becomes "⁻¹²".
std::string raised(std::string expression) {
  constexpr std::array<std::pair<const char*, const char*>, 11> kRaised = {{{"0", "⁰"},
                                                                            {"1", "¹"},
                                                                            {"2", "²"},
                                                                            {"3", "³"},
                                                                            {"4", "⁴"},
                                                                            {"5", "⁵"},
                                                                            {"6", "⁶"},
                                                                            {"7", "⁷"},
                                                                            {"8", "⁸"},
                                                                            {"9", "⁹"},
                                                                            {"−", "⁻"}}};
  for (const auto& [digit, high] : kRaised) {
    expression = fmt::format("replace({}, regexp('{}', 'g'), '{}')", expression, digit, high);
  }
  return expression;
}

// The label of a number that an axis shows, from expressions of its log10 and of itself: 10⁻¹² where it is a power of
// ten, 0.32 where that is short, 3.2·10⁻¹³ elsewhere.
std::string number_label(const std::string& log10, const std::string& number, bool short_powers, int digits) {
  const std::string power = fmt::format("'10' + {}", raised(fmt::format("format(round({}), 'd')", log10)));
  const std::string plain = fmt::format("format({}, '.{}~r')", number, digits);
  const std::string both = fmt::format("format(pow(10, {} - floor({})), '.{}~r') + '·10' + {}", log10, log10, digits,
                                       raised(fmt::format("format(floor({}), 'd')", log10)));
  const std::string is_power = fmt::format("abs({} - round({})) < 1e-9", log10, log10);
  const std::string is_short = fmt::format("abs({}) < 4", log10);
  return short_powers ? fmt::format("{} ? {} : {} ? {} : {}", is_short, plain, is_power, power, both)
                      : fmt::format("{} ? {} : {} ? {} : {}", is_power, power, is_short, plain, both);
}

}  // namespace

std::string power_label(int digits) { return number_label("datum.value", "pow(10, datum.value)", false, digits); }

std::string value_label() { return number_label("(log(datum.value) / LN10)", "datum.value", true, 6); }

std::string linear_label() {
  const std::string size = "abs(datum.value)", log10 = "(log(abs(datum.value)) / LN10)";
  // Steps of an axis are sums, so that a tick at 2e-6 may be 1.9999999999999998e-6.
  const std::string power = fmt::format("floor({} + 1e-9)", log10);
  const std::string mantissa = fmt::format("format({} / pow(10, {}), '.6~r')", size, power);
  const std::string raised_power = fmt::format("'10' + {}", raised(fmt::format("format({}, 'd')", power)));
  return fmt::format(
      "{0} < 1e-300 ? '0' : {0} >= 0.000999 && {0} < 1e6 ? format(datum.value, ',.6~r') : (datum.value < 0 ? '−' : '') "
      "+ ({1} == '1' ? '' : {1} + '·') + {2}",
      size, mantissa, raised_power);
}

double pixels_from_top(double value, std::pair<double, double> domain, const std::string& scale, int height) {
  const auto place = [&](double v) { return scale == "symlog" ? std::copysign(std::log1p(std::abs(v)), v) : v; };
  const double low = place(domain.first), high = place(domain.second);
  if (!(high > low)) return 0.5 * height;
  return height * (1 - (place(value) - low) / (high - low));
}

void spread(std::vector<EndLabel>& labels, int height) {
  constexpr double kLine = 16;
  std::ranges::stable_sort(labels, {}, &EndLabel::y);
  for (std::size_t i = 1; i < labels.size(); ++i) labels[i].y = std::max(labels[i].y, labels[i - 1].y + kLine);
  double most = height;
  for (std::size_t i = labels.size(); i-- > 0; most = labels[i].y - kLine) labels[i].y = std::min(labels[i].y, most);
}

PowerTicks narrow_power_ticks(double lowest, double highest) {
  constexpr double kWhole = 2;        // powers of ten have room
  constexpr double kSmallest = -290;  // below, values are no doubles
  if (!(highest - lowest < kWhole) || lowest < kSmallest || highest > -kSmallest) return {};
  const double low = std::pow(10, lowest), high = std::pow(10, highest);
  PowerTicks out;
  const auto add = [&](double value) {
    if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) out.ticks.push_back(std::log10(value));
  };
  constexpr double kLinear = 5;  // below this ratio steps are equal
  if (high / low >= kLinear) {
    for (double power = std::pow(10, std::floor(lowest)); power <= high; power *= 10) {
      for (const double step : {1.0, 2.0, 3.0, 5.0}) add(step * power);
    }
    return out;
  }
  const double rough = (high - low) / 4;
  if (!(rough > high * 1e-12)) {
    out.ticks = {lowest};
    return out;
  }
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough / power >= 5 ? 5 * power : rough / power >= 2 ? 2 * power : power;
  for (double value = std::ceil(low / step * (1 - 1e-12)) * step; value <= high * (1 + 1e-12); value += step)
    add(value);
  out.digits = static_cast<int>(std::floor(std::log10(high)) - std::floor(std::log10(step) + 1e-9)) + 1;
  return out;
}

std::vector<double> power_ticks(double lowest, double highest) {
  std::vector<double> ticks = {0};
  for (double power = 1; power <= std::max(-lowest, highest) * 1.0001 && ticks.size() < 60; power *= 10) {
    for (const double tick : {power, 3 * power}) {
      if (-tick >= lowest) ticks.push_back(-tick);
      if (tick <= highest) ticks.push_back(tick);
    }
  }
  std::ranges::sort(ticks);
  return ticks;
}

}  // namespace rankfall
