#include "render/page/panels.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "render/page/axis_labels.h"
#include "render/page/chart.h"
#include "render/page/coincidence.h"

namespace rankfall {
namespace {

// Every "field" anywhere in a specification.
void fields_of(const Json& json, std::set<std::string>& fields) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (key == "field") fields.insert(value.get<std::string>());
      fields_of(value, fields);
    }
  } else if (json.is_array()) {
    for (const Json& value : json) fields_of(value, fields);
  }
}

Figure figure_of_everything() {
  Figure figure;
  figure.id = "all";
  figure.series = {{"san", "san: attention alone", 1}, {"full", "full", 0}, {"never", "never drawn", 2}};
  Curves curves;
  curves.y = "residual";
  for (const char* series : {"san", "full"}) {
    for (int x = 0; x < 4; ++x) {
      Point point;
      point.x = x;
      point.series = series;
      point.value = -0.25 * x;
      point.low = -0.3 * x;
      point.high = 0;
      point.n = 4;
      curves.points.push_back(point);
    }
  }
  curves.points.back().value = std::nan("");
  for (const Scale scale : {Scale::kLinear, Scale::kBoth, Scale::kLog, Scale::kLog10}) {
    curves.scale = scale;
    figure.nodes.emplace_back(curves);
  }
  curves.stacked = true;
  figure.nodes.emplace_back(curves);
  figure.nodes.emplace_back(Heat{"", "", "block", "head", "share", {{0, 0, 0.5}, {0, 1, -0.25}, {1, 0, std::nullopt}}});
  Tracks tracks;
  tracks.tracks.push_back({"san", "L0H1", "embedding", 1, 0.5, {{-0.5, -1.5}, {0, 1}, {1, -1.5}}});
  figure.nodes.emplace_back(tracks);
  tracks.lanes = true;
  tracks.n_blocks = 2;
  tracks.n_heads = 3;
  figure.nodes.emplace_back(tracks);
  return figure;
}

TEST(Panels, EveryChartDrawsColumnsOfItsDataAndEverySeriesHasRows) {
  const Figure figure = figure_of_everything();
  const std::vector<Panel> panels = panels_of(figure);
  ASSERT_EQ(panels.size(), figure.nodes.size());
  for (const Panel& panel : panels) {
    EXPECT_FALSE(panel.description.empty());
    EXPECT_FALSE(panel.data.rows.empty());
    std::set<std::string> columns;
    for (const PageColumn& one : panel.data.columns) columns.insert(one.name);
    for (const auto& [label, spec] : panel.views) {
      std::set<std::string> fields;
      fields_of(spec, fields);
      for (const std::string& field : fields) EXPECT_TRUE(columns.contains(field)) << field;
    }
    for (const auto& cells : panel.data.rows) EXPECT_EQ(cells.size(), panel.data.columns.size());
    EXPECT_FALSE(standalone_spec(panel, figure).empty());
  }
  std::vector<std::string> drawn;
  for (const DrawnSeries& one : drawn_series(figure)) drawn.push_back(one.name);
  EXPECT_THAT(drawn, testing::ElementsAre("san", "full")) << "a series without values is not in the legend";
}

TEST(Panels, LogarithmicViewsAreForPositiveValues) {
  Curves curves;
  for (int x = 0; x < 3; ++x) {
    Point point;
    point.x = x;
    point.value = x + 1.0;
    curves.points.push_back(point);
  }
  EXPECT_EQ(panel_of(curves, {}).views.size(), 2U);
  curves.scale = Scale::kLog;
  EXPECT_EQ(panel_of(curves, {}).views.at(0).first, "log");
  curves.points[0].value = 0;
  EXPECT_EQ(panel_of(curves, {}).views.size(), 1U);
  curves.scale = Scale::kLog10;
  curves.points[0].value = -1000;
  EXPECT_EQ(panel_of(curves, {}).views.at(0).first, "log of the exponent");
}

TEST(Panels, NumbersWithMoreToSayAreSeveralColumns) {
  Table table;
  table.columns = {{"kind"}, {"rank", TableColumn::Kind::kNumber, "P"}, {"found", TableColumn::Kind::kProse}};
  Number rank(12.0);
  rank.low = 10;
  rank.high = 14;
  rank.at_least = true;
  table.rows = {{std::string("a"), rank, Badge{Tone::kBad, "no"}}, {std::string("b"), {}, {}}};
  const Dataset data = dataset_of(table);
  std::vector<std::string> titles;
  for (const PageColumn& column : data.columns) titles.push_back(column.title);
  EXPECT_THAT(titles,
              testing::ElementsAre("kind", "P, rank", "P, rank: from", "P, rank: to", "P, rank: note", "found"));
  EXPECT_EQ(std::get<std::string>(data.rows[0][4]), "at least");
  EXPECT_EQ(data.columns.back().kind, PageColumn::Kind::kVerdict);
  for (const auto& row : data.rows) EXPECT_EQ(row.size(), data.columns.size());
}

TEST(Panels, LabelsOfPowersDoNotRound) {
  Curves shallow;
  shallow.scale = Scale::kLog10;
  for (int layer = 0; layer < 3; ++layer) {
    Point point;
    point.x = layer;
    point.value = -0.25 * layer;
    shallow.points.push_back(point);
  }
  const Json axis = panel_of(shallow, {}).views.at(0).second.at("layer").at(0).at("encoding").at("y").at("axis");
  EXPECT_FALSE(axis.contains("format")) << "~d would round the exponent -0.5 to -1";
  std::vector<double> values;
  for (const Json& tick : axis.at("values")) values.push_back(std::pow(10, tick.get<double>()));
  EXPECT_THAT(values, testing::Pointwise(testing::DoubleNear(1e-12), {0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}));
}

TEST(Panels, TicksOfNarrowRangesAreRoundAndToldApart) {
  EXPECT_TRUE(narrow_power_ticks(-5, 0).ticks.empty()) << "whole powers";
  EXPECT_EQ(narrow_power_ticks(-1.5, 0).ticks.size(), 6U) << "0.05, 0.1, 0.2, 0.3, 0.5, 1";
  for (const auto& [low, high] : {std::pair(-1e-4, 0.0), {-0.01, 0.0}, {-0.7, -0.1}, {-12.3, -12.2}, {-0.5, -0.5}}) {
    const PowerTicks found = narrow_power_ticks(low, high);
    ASSERT_GE(found.ticks.size(), low < high ? 3U : 1U) << low;
    std::set<std::string> labels;
    for (const double tick : found.ticks) {
      EXPECT_GE(tick, low - 1e-9);
      EXPECT_LE(tick, high + 1e-9);
      labels.insert(fmt::format("{:.{}g}", std::pow(10, tick), found.digits));
    }
    EXPECT_EQ(labels.size(), found.ticks.size()) << low;
  }
}

Curves curve_of_values(const std::string& title, const std::map<std::string, std::vector<double>>& all) {
  Curves curves;
  curves.title = title;
  curves.y = "residual";
  for (const auto& [series, values] : all) {
    for (std::size_t x = 0; x < values.size(); ++x) {
      Point point;
      point.x = static_cast<double>(x);
      point.series = series;
      point.value = values[x];
      curves.points.push_back(point);
    }
  }
  return curves;
}

Json y_domain(const Json& spec) {
  for (const Json& layer : spec.at("layer")) {
    if (layer.contains("encoding") && layer["encoding"].contains("y")) return layer["encoding"]["y"]["scale"]["domain"];
  }
  return {};
}

TEST(Panels, PanelsOfOneFigureHaveOneRange) {
  Figure figure;
  figure.series = {{"a", "a", 0}};
  figure.nodes = {curve_of_values("one", {{"a", {0.9, 0.5, 0.2}}}),
                  curve_of_values("two", {{"a", {0.01, 0.02, 0.03}}})};
  const std::vector<Panel> panels = panels_of(figure);
  for (std::size_t view = 0; view < 2; ++view) {
    ASSERT_EQ(panels[0].views.at(view).first, panels[1].views.at(view).first);
    EXPECT_EQ(y_domain(panels[0].views[view].second), y_domain(panels[1].views[view].second));
  }
  std::get<Curves>(figure.nodes[1]).points[0].value = 0;
  for (const Panel& panel : panels_of(figure)) EXPECT_EQ(panel.views.size(), 1U) << "no logarithm for one alone";
  std::get<Curves>(figure.nodes[1]).y = "something else";
  EXPECT_NE(y_domain(panels_of(figure)[0].views[0].second), y_domain(panels_of(figure)[1].views[0].second));
}

TEST(Panels, StackedBarsEndBelowTheEdgeAndTheirTotalIsNotAdded) {
  Figure figure;
  figure.series = {{"all", "all", 0, Series::Look::kTotal}, {"a", "a", 0}, {"b", "b", 1}};
  Curves curves = curve_of_values("", {{"all", {1.0, 0.2}}, {"a", {0.4, 0.1}}, {"b", {0.6, 0.1}}});
  curves.stacked = true;
  figure.nodes = {curves};
  const Json domain = panels_of(figure).at(0).views[0].second.at("encoding").at("y").at("scale").at("domain");
  EXPECT_GT(domain[1].get<double>(), 1.0);
  EXPECT_LT(domain[1].get<double>(), 1.2);
}

TEST(Panels, NoTwoSeriesOfOneFigureHaveOneColour) {
  Figure figure;
  Curves curves;
  curves.sources = {"ours", "published"};  // dashes say the source, so that colours alone say the series
  for (std::size_t i = 0; i < 32; ++i) {
    const std::string name = fmt::format("model {}", i);
    figure.series.push_back({name, name, i});
    Point point;
    point.series = name;
    point.value = static_cast<double>(i);
    curves.points.push_back(point);
  }
  figure.nodes = {curves};
  std::set<std::string> colours;
  for (const DrawnSeries& one : drawn_series(figure)) {
    EXPECT_EQ(one.colour.size(), 7U) << one.colour;
    colours.insert(one.colour);
  }
  EXPECT_EQ(colours.size(), 32U);
}

TEST(Panels, CurvesThatCoincideAreSaidAndTheLowerOneIsWider) {
  Figure figure;
  figure.series = {{"san", "san", 1, Series::Look::kNumbered, "attention alone"},
                   {"mlp", "mlp", 2, Series::Look::kNumbered, "with MLPs"},
                   {"full", "full", 0}};
  const std::map<std::string, std::vector<double>> bert = {
      {"san", {0.6, 0.01, 1e-7}}, {"mlp", {0.6, 0.011, 3e-7}}, {"full", {0.6, 0.5, 0.4}}};
  Curves apart = curve_of_values("xlnet", {{"san", {0.6, 0.3, 0.1}}, {"mlp", {0.6, 0.2, 0.3}}, {"full", {1, 1, 1}}});
  figure.nodes = {curve_of_values("bert", bert), apart};
  EXPECT_THAT(
      coincidences(figure),
      testing::ElementsAre(testing::HasSubstr("The curves of san and mlp coincide on the linear scale in bert")));
  const auto series = drawn_series(figure);
  // The points of mlp come first in a map.
  EXPECT_TRUE(series[1].is_covered);
  EXPECT_FALSE(series[0].is_covered);
  EXPECT_GT(series[1].width, series[0].width);
  const Json lines = panels_of(figure).at(0).views.at(0).second.at("layer").at(0).at("encoding");
  EXPECT_EQ(lines.at("size").at("scale").at("type"), "ordinal");
  figure.nodes = {apart};
  EXPECT_TRUE(coincidences(figure).empty());
}

TEST(Panels, LegendsLookLikeTheMarks) {
  const auto mark = [](Node node) {
    Figure figure;
    figure.series = {{"a", "a", 0}};
    figure.nodes = {std::move(node)};
    return drawn_series(figure).at(0).mark;
  };
  Curves curves = curve_of_values("", {{"a", {1, 2, 3}}});
  EXPECT_EQ(mark(curves), "line");
  curves.stacked = true;
  EXPECT_EQ(mark(curves), "bar");
  curves.stacked = false;
  curves.band = Band::kQuartiles;
  curves.error_bars = true;
  EXPECT_EQ(mark(curves), "box");
  Tracks tracks;
  tracks.tracks.push_back({"a", "L0H1", "", 1, 0.5, {{0, 1}, {1, 2}}});
  EXPECT_EQ(mark(tracks), "line");
  tracks.lanes = true;
  EXPECT_EQ(mark(tracks), "ribbon");
}

TEST(Panels, QuartilesAreBoxes) {
  Figure figure;
  figure.series = {{"a", "a", 0}, {"b", "b", 1}};
  Curves curves = curve_of_values("", {{"a", {1, 0.1, 0.01}}, {"b", {2, 0.2, 0.02}}});
  curves.band = Band::kQuartiles;
  curves.error_bars = true;
  curves.scale = Scale::kLog;
  for (Point& point : curves.points) {
    point.low = 0.5 * *point.value;
    point.high = 2 * *point.value;
  }
  figure.nodes = {curves};
  const Panel panel = panels_of(figure).at(0);
  for (const auto& [label, spec] : panel.views) {
    const Json& boxes = spec.at("layer")[0];
    EXPECT_EQ(boxes.at("mark").at("type"), "bar");
    EXPECT_EQ(boxes.at("encoding").at("y2").at("field"), "high");
    EXPECT_EQ(boxes.at("encoding").at("xOffset").at("field"), "series") << "boxes stand beside each other";
    EXPECT_EQ(spec.at("layer")[1].at("mark").at("type"), "tick");
  }
  EXPECT_EQ(panel.views.at(0).first, "log");
}

TEST(Panels, MapsOfSharesHaveOnePaletteAndNoiseStaysPale) {
  Figure figure;
  figure.nodes = {Heat{"bert: first share", "", "block", "head", "first share", {{0, 0, 2e-5}, {1, 0, -1e-5}}, true},
                  Heat{"bert: second share", "", "block", "head", "second share", {{0, 0, 3e-5}, {1, 0, 1e-5}}, true}};
  std::vector<Panel> panels = panels_of(figure);
  const auto scale = [](const Panel& panel) { return panel.views.at(0).second.at("encoding").at("color").at("scale"); };
  EXPECT_EQ(scale(panels[0]), scale(panels[1]));
  EXPECT_GE(scale(panels[0]).at("domain")[1].get<double>(), 1e-3);
  for (const Panel& panel : panels) {
    EXPECT_THAT(panel.note, testing::HasSubstr("too little to be seen"));
  }
  figure.nodes = {Heat{"", "", "block", "head", "some value", {{0, 0, 2e-5}, {1, 0, 3e-5}}}};
  panels = panels_of(figure);
  EXPECT_THAT(panels[0].note, testing::HasSubstr("mind the scale"));
}

TEST(Panels, FloorsAreShadedAndCurvesNamedWhereTheyEnd) {
  Curves curves =
      curve_of_values("", {{"full", {-0.2, -0.3, -0.4}}, {"san", {-0.2, -20, -400}}, {"mlp", {-0.2, -21, -400}}});
  curves.scale = Scale::kLog10;
  curves.precisions = curves.labelled = true;
  Figure figure;
  figure.series = {{"full", "full", 0}, {"san", "attention alone", 1}, {"mlp", "with MLPs", 2}};
  figure.nodes = {curves};
  const Json spec = panels_of(figure).at(0).views.at(0).second;
  std::vector<std::string> texts;
  std::vector<double> heights;
  for (const Json& layer : spec.at("layer")) {
    if (!layer.contains("data")) continue;
    const Json& value = layer.at("data").at("values")[0];
    texts.push_back(value.contains("name") ? value["name"] : value["label"]);
    if (value.contains("label")) heights.push_back(layer.at("encoding").at("y").at("value"));
  }
  EXPECT_THAT(texts, testing::ElementsAre("below float32", "below float64", "full", testing::_, testing::_));
  ASSERT_EQ(heights.size(), 3U);
  EXPECT_GE(heights[2] - heights[1], 15) << "names do not overlap";
  EXPECT_LE(heights[2], spec.at("height").get<double>());
  curves.points.resize(3);  // nothing below a floor: nothing to shade
  figure.nodes = {curve_of_values("", {{"full", {-0.2, -0.3, -0.4}}})};
  std::get<Curves>(figure.nodes[0]).scale = Scale::kLog10;
  std::get<Curves>(figure.nodes[0]).precisions = true;
  EXPECT_THAT(panels_of(figure).at(0).views.at(0).second.dump(), testing::Not(testing::HasSubstr("below float")));
}

TEST(Panels, PixelsFollowTheScale) {
  EXPECT_DOUBLE_EQ(pixels_from_top(1, {0, 1}, "linear", 200), 0);
  EXPECT_DOUBLE_EQ(pixels_from_top(0.25, {0, 1}, "linear", 200), 150);
  EXPECT_NEAR(pixels_from_top(-9, {-99, 0}, "symlog", 200), 100, 1e-9);
  EXPECT_DOUBLE_EQ(pixels_from_top(5, {3, 3}, "linear", 200), 100);
}

TEST(Panels, CurvesOfManyArchitecturesAreNamedAtTheirPeaks) {
  Figure figure;
  Curves curves =
      curve_of_values("", {{"a", {0, 0.1, 0.9, 0.2}}, {"b", {0, 0.1, 0.89, 0.2}}, {"c", {0, 0.1, 0.2, 0.7}}});
  for (Point& point : curves.points) point.source = "formula";
  curves.sources = {"formula", "published"};
  curves.wide = curves.log_x = true;
  curves.scale = Scale::kLinear;
  figure.series = {{"a", "a", 0}, {"b", "b", 1}, {"c", "c", 2}};
  figure.nodes = {curves};
  std::map<std::string, double> peaks;
  std::set<std::pair<double, double>> shifts;
  const Json spec = panels_of(figure).at(0).views.at(0).second;
  for (const Json& layer : spec.at("layer")) {
    if (!layer.contains("transform")) continue;
    peaks[layer["transform"][0]["filter"]["equal"]] = layer["transform"][1]["filter"]["equal"];
    shifts.emplace(layer["mark"]["dx"], layer["mark"]["dy"]);
  }
  EXPECT_THAT(peaks, testing::ElementsAre(testing::Pair("a", 2), testing::Pair("b", 2), testing::Pair("c", 3)));
  EXPECT_GE(shifts.size(), 2U) << "a and b stand at one place, their names do not";
}

}  // namespace
}  // namespace rankfall
