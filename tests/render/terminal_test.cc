#include "render/terminal/terminal.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>

#include "render/lines.h"
#include "render/terminal/screen_text.h"

namespace rankfall {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "evil\x1b]0;title\x07\n\xc2\x9b\xe2\x80\xae\xff";

Curves curves_of(const std::vector<std::pair<std::string, std::vector<double>>>& values) {
  Curves curves;
  curves.title = "bert";
  curves.about = "relative residual: ‖X − 1·mean‖ / ‖X‖";
  curves.y = "relative residual";
  curves.share = true;
  for (const auto& [name, list] : values) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      Point point;
      point.x = static_cast<double>(i);
      point.series = name;
      point.value = list[i];
      if (list[i] < 1e-6) point.status = Status::kRoundingFloor;
      curves.points.push_back(point);
    }
  }
  return curves;
}

View view_with(Node node, std::vector<Series> series = {}) {
  View view;
  Figure figure;
  figure.id = "one";
  figure.title = "One";
  figure.series = std::move(series);
  figure.nodes.push_back(std::move(node));
  view.figures.push_back(std::move(figure));
  return view;
}

Table table_of() {
  using Kind = TableColumn::Kind;
  Table table;
  table.title = "things";
  table.columns = {
      {"name"}, {"σ", Kind::kNumber}, {"share", Kind::kShare}, {"n", Kind::kCount, "counted"}, {"found", Kind::kProse}};
  Number ranged(0.25);
  ranged.low = 0.125;
  ranged.high = 0.5;
  Number fitted(12.5);
  fitted.error = 0.25;
  table.rows.push_back({std::string("one"), ranged, Number(0.5), Number(3.0),
                        Badge{Tone::kGood, "it holds wherever it was looked at, which was often"}});
  table.rows.push_back({std::string(kHostile), fitted, {}, Number(12.0), Badge{Tone::kBad, "no"}});
  return table;
}

// Every kind of node, hostile where texts may come from files.
View everything() {
  View view;
  view.about = kHostile;
  Figure figure;
  figure.id = "all";
  figure.series = {{"full", "full"}, {"san", "san"}, {kHostile, kHostile}};
  Curves curves = curves_of({{"full", {0.6, 0.5625, 0.5}}, {"san", {0.6, 0.0176, 1.9e-7}}, {kHostile, {1, 2, 3}}});
  curves.labels = {{0, "1"}, {1, kHostile}};
  curves.label_title = "paths";
  figure.nodes.emplace_back(curves);
  curves.small = true;
  figure.nodes.emplace_back(curves);
  curves.small = false;
  curves.scale = Scale::kLog10;
  curves.points[1].status = Status::kViolated;
  figure.nodes.emplace_back(curves);
  figure.nodes.emplace_back(table_of());
  Table records = table_of();
  records.columns[1] = {"more", TableColumn::Kind::kProse};
  for (auto& row : records.rows) row[1] = std::string(kHostile);
  figure.nodes.emplace_back(records);
  Table running;
  running.layout = Table::Layout::kRunning;
  running.columns = {{"sample"}, {"piece"}, {"id", TableColumn::Kind::kCount}};
  for (int i = 0; i < 40; ++i)
    running.rows.push_back({std::string("sample 0"), std::string(i == 3 ? kHostile : "piece"), Number(1.0 * i)});
  figure.nodes.emplace_back(running);
  Heat heat;
  heat.title = kHostile;
  for (Index x = 0; x < 3; ++x) {
    for (Index y = 0; y < 30; ++y) heat.values.push_back({static_cast<double>(x), static_cast<double>(y), -0.25});
  }
  figure.nodes.emplace_back(heat);
  figure.nodes.emplace_back(Tracks{});
  figure.nodes.emplace_back(Sentences{{{"san", Tone::kBad, "reaches the floor"}, {kHostile, Tone::kGood, kHostile}}});
  view.figures.push_back(figure);
  view.notes.emplace_back(kHostile);
  return view;
}

TEST(Terminal, ShowsAtAGlanceWhoIsDead) {
  EXPECT_EQ(terminal_text(view_with(curves_of({{"full", {0.6, 0.5625, 0.5}}, {"san", {0.6, 0.0176, 1.9e-7}}})), {}),
            R"(bert  relative residual: ‖X − 1·mean‖ / ‖X‖

layer  full                           san
    0  0.600 ████████████              0.600   ████████████
    1  0.562 ███████████▎              0.0176  ▍
    2  0.500 ██████████               ~2×10^-7 ·floor

·floor: rounding noise, not a property of the network
)");
}

TEST(Terminal, BarsAboveOneDiffer) {
  const std::string text = terminal_text(view_with(curves_of({{"full", {1.0, 1.02, 1.05}}})), {.width = 60});
  EXPECT_THAT(text, HasSubstr("1.00 ███████████████████\n"));
  EXPECT_THAT(text, HasSubstr("1.02 ███████████████████▍\n"));
  EXPECT_THAT(text, HasSubstr("1.05 ████████████████████\n"));
}

TEST(Terminal, AnswersComeFirst) {
  View view = view_with(table_of());
  view.about = "Measured on 2 samples.";
  view.answers.push_back({Question::kCollapses, "Nothing collapses.", Tone::kGood});
  EXPECT_TRUE(terminal_text(view, {}).starts_with("Nothing collapses.\n\nMeasured on 2 samples.\n\nthings"));
}

TEST(Terminal, ShowsDeviationsBesideValues) {
  Curves curves = curves_of({{"full", {0.5}}});
  curves.band = Band::kDeviation;
  curves.deviations = true;
  curves.points[0].low = 0.375;
  curves.points[0].high = 0.625;
  EXPECT_THAT(terminal_text(view_with(curves), {}), HasSubstr("±0.12"));
}

TEST(Terminal, AColumnOfLogarithmsHasOneNotation) {
  Curves curves = curves_of({{"san", {-0.5, -405470874, -1220703125}}});
  curves.scale = Scale::kLog10;
  for (Point& point : curves.points) point.status = Status::kNone;
  const std::string text = terminal_text(view_with(curves), {});
  EXPECT_THAT(text, HasSubstr("   -405470874\n"));
  EXPECT_THAT(text, HasSubstr("-1220703125"));
  curves.points.back().value = -4e15;
  const std::string huge = terminal_text(view_with(curves), {});
  EXPECT_THAT(huge, HasSubstr("-4.05×10^8"));
  EXPECT_THAT(huge, HasSubstr("-4.00×10^15"));
}

TEST(Terminal, TablesSayRangesErrorsAndWhatIsFound) {
  const std::string text = terminal_text(view_with(table_of()), {.width = 80});
  EXPECT_THAT(text, HasSubstr("0.250"));
  EXPECT_THAT(text, HasSubstr("0.125..0.500"));
  EXPECT_THAT(text, HasSubstr("12.5±0.2"));
  EXPECT_THAT(text, HasSubstr("█████"));
  EXPECT_THAT(text, HasSubstr("counted"));
  EXPECT_THAT(text, HasSubstr("it holds wherever"));
}

TEST(Terminal, NothingFromOutsideControlsIt) {
  for (const bool unicode : {true, false}) {
    const std::string text = terminal_text(everything(), {.width = 200, .unicode = unicode, .plot = true});
    EXPECT_THAT(text, HasSubstr("evil\\x1b]0;title\\x07\\x0a\\u{9b}\\u{202e}\\xff"));
    for (const char* bad : {"\x1b", "\r", "\x07", "\xc2\x9b", "\xe2\x80\xae", "\xff"}) {
      EXPECT_THAT(text, Not(HasSubstr(bad)));
    }
    if (!unicode) {
      EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); })) << text;
    }
  }
}

TEST(Terminal, EveryLineFits) {
  for (const int width : {-5, 40, 61, 80, 100, 237}) {
    for (const bool unicode : {true, false}) {
      const std::string text = terminal_text(everything(), {.width = width, .unicode = unicode, .plot = true});
      for (const auto& line : lines(text)) EXPECT_LE(display_width(line), std::max(40, width)) << line;
    }
  }
}

TEST(Terminal, HasEscapesOnlyWithColour) {
  std::string coloured = terminal_text(everything(), {.colour = true});
  EXPECT_NE(coloured.find("\x1b["), std::string::npos);
  // Without its escapes (and the spaces they hide at the ends of lines) it is the same text.
  for (std::size_t at = 0; (at = coloured.find('\x1b')) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  std::string trimmed;
  for (std::string line : lines(coloured)) {
    line.erase(line.find_last_not_of(' ') + 1);
    trimmed += line + '\n';
  }
  std::string plain;
  for (std::string line : lines(terminal_text(everything(), {}))) {
    line.erase(line.find_last_not_of(' ') + 1);
    plain += line + '\n';
  }
  EXPECT_EQ(trimmed, plain);
}

TEST(Terminal, LayersOfAnySizeAndAbsentValues) {
  Curves curves = curves_of({{"full", {0.5, 0.5}}});
  curves.points[0].value.reset();
  curves.points[1].x = 9.0e14;
  const std::string text = terminal_text(view_with(curves), {});
  EXPECT_THAT(text, HasSubstr("\n              0  -"));
  EXPECT_THAT(text, HasSubstr("900000000000000  0.500"));
  curves.points[1].x = std::numeric_limits<double>::infinity();
  EXPECT_THAT(terminal_text(view_with(curves), {}), Not(HasSubstr("inf")));
}

TEST(Terminal, DetailsAndChartsAreNotForIt) {
  View view = everything();
  view.figures[0].detail = true;
  view.notes.clear();
  view.about.clear();
  EXPECT_EQ(terminal_text(view, {}), "");
  Curves drawn = curves_of({{"full", {0.6, 0.5}}});
  drawn.only_drawn = true;
  EXPECT_EQ(terminal_text(view_with(drawn), {}), "");
  EXPECT_THAT(terminal_text(view_with(drawn), {.plot = true}), HasSubstr("● full"));
}

}  // namespace
}  // namespace rankfall
