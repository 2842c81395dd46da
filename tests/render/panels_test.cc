#include "render/page/panels.h"

#include <cmath>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "render/page/chart.h"

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

}  // namespace
}  // namespace rankfall
