#include "base/grid.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <rankfall/error.h>

namespace rankfall {
namespace {

using Texts = std::vector<std::string>;

Texts points(std::string_view text) {
  const Grid grid = parse_grid(text);
  Texts out;
  for (std::uint64_t i = 0; i < grid.n_points; ++i) out.push_back(grid.point(i).text);
  return out;
}

Texts keys(std::string_view text) {
  const Grid grid = parse_grid(text);
  Texts out;
  for (const GridAxis& axis : grid.axes) out.push_back(axis.key);
  return out;
}

template <class F>
std::string usage_text(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Grid, TheLastAxisChangesFastest) {
  EXPECT_EQ(points("san:layers={4,8},heads=2,dim={128..512*2}"),
            (Texts{"san:layers=4,heads=2,dim=128", "san:layers=4,heads=2,dim=256", "san:layers=4,heads=2,dim=512",
                   "san:layers=8,heads=2,dim=128", "san:layers=8,heads=2,dim=256", "san:layers=8,heads=2,dim=512"}));
  EXPECT_EQ(parse_grid("san:layers={4,8},heads=2,dim={128..512*2}").point(4).values, (Texts{"8", "256"}));
}

TEST(Grid, AnyTextMayHaveBraces) {
  EXPECT_EQ(points("path/to/pythia/step{1000..4000/4}"), (Texts{"path/to/pythia/step1000", "path/to/pythia/step2000",
                                                                "path/to/pythia/step3000", "path/to/pythia/step4000"}));
  EXPECT_EQ(points("bert-{tiny,mini}@init"), (Texts{"bert-tiny@init", "bert-mini@init"}));
  EXPECT_EQ(points("{a,b}{1,2}"), (Texts{"a1", "a2", "b1", "b2"}));
  EXPECT_EQ(points("{a}"), (Texts{"a"}));
  EXPECT_EQ(points("bert-tiny@init"), (Texts{"bert-tiny@init"}));
  EXPECT_EQ(points(""), (Texts{""}));
  EXPECT_EQ(points("\xC3\xA4{\xC3\xB6,\xC3\xBC}"), (Texts{"\xC3\xA4\xC3\xB6", "\xC3\xA4\xC3\xBC"}));
}

TEST(Grid, TheGridOfIssue26) {
  const Grid grid = parse_grid("san:layers=64,heads=8,dim=512,qk_std={0.01..0.2*1.5},branch={0..1/5}");
  EXPECT_EQ(grid.n_points, 40U);
  EXPECT_EQ(grid.point(0).text, "san:layers=64,heads=8,dim=512,qk_std=0.01,branch=0");
  EXPECT_EQ(grid.point(39).text, "san:layers=64,heads=8,dim=512,qk_std=0.170859375,branch=1");
}

TEST(Grid, AxesAreNamedByTheirKeyOrNumber) {
  EXPECT_EQ(keys("san:layers={4,8},heads=2,qk_std={1,2}"), (Texts{"layers", "qk_std"}));
  EXPECT_EQ(keys("bert-{tiny,mini}@init"), (Texts{"1"}));
  EXPECT_EQ(keys("--tokens={8,16}"), (Texts{"tokens"}));
  EXPECT_EQ(keys("runs/lr={0.1,0.2}/step{1,2}"), (Texts{"lr", "2"}));
  EXPECT_EQ(keys("={1,2},7={1,2},a{3,4}"), (Texts{"1", "2", "3"}));
  EXPECT_EQ(keys("{a,b}x={1,2}"), (Texts{"1", "2"})) << "the key would be ax or bx";
}

// The count, the order and the values of every grid agree with nested loops.
TEST(Grid, PointsAreTheProductOfTheAxes) {
  const Grid grid = parse_grid("a{1..3/3}b{x,y}c{2..16*2}d");
  ASSERT_EQ(grid.n_points, 24U);
  std::uint64_t i = 0;
  std::set<std::string> seen;
  for (const std::string& a : grid.axes[0].values) {
    for (const std::string& b : grid.axes[1].values) {
      for (const std::string& c : grid.axes[2].values) {
        const GridPoint point = grid.point(i++);
        EXPECT_EQ(point.values, (Texts{a, b, c}));
        EXPECT_EQ(point.text, fmt::format("a{}b{}c{}d", a, b, c));
        EXPECT_EQ(points(point.text), (Texts{point.text})) << "a point is a grid of itself";
        seen.insert(point.text);
      }
    }
  }
  EXPECT_EQ(seen.size(), grid.n_points);
}

TEST(Grid, ABillionPointsAreCountedAndRefused) {
  const Grid grid = parse_grid("a={1..1000/1000},b={1..1000/1000},c={1..1000/1000}");
  EXPECT_EQ(grid.n_points, 1'000'000'000U);
  EXPECT_EQ(grid.point(999'999'999).text, "a=1000,b=1000,c=1000");
  EXPECT_EQ(usage_text([&] { check_grid_size(grid, 999'999'999); }),
            "a={1..1000/1000},b={1..1000/1000},c={1..1000/1000}: a grid of 1000000000 points (1000 of a, 1000 of b, "
            "1000 of c), expected at most 999999999; use fewer values");
  EXPECT_NO_THROW(check_grid_size(grid, 1'000'000'000));
  EXPECT_NO_THROW(check_grid_size(parse_grid("x"), 1));
}

TEST(Grid, TheLargestCountFits) {
  std::string text;
  for (int i = 0; i < 16; ++i) text += "{1..15/15}";
  EXPECT_EQ(parse_grid(text).n_points, 6'568'408'355'712'890'625U);  // 15^16
  EXPECT_EQ(parse_grid(text).point(6'568'408'355'712'890'624U).values, Texts(16, "15"));
  std::string more;
  for (int i = 0; i < 16; ++i) more += "{1..16/16}";
  EXPECT_NE(usage_text([&] { parse_grid(more); }).find("more than 18446744073709551615 points"), std::string::npos);
}

TEST(Grid, WhatIsNoGridIsRefused) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"a{1,2", "'{' at byte 2 has no '}' behind it; expected {a,b,c}"},
      {"a1,2}", "'}' at byte 5 has no '{' before it"},
      {"}{", "'}' at byte 1 has no '{' before it"},
      {"{1,2}}", "'}' at byte 6 has no '{' before it"},
      {"{1,{2,3}}", "'{' at byte 4 is inside braces"},
      {"{{1,2}", "'{' at byte 2 is inside braces"},
      {"a{}", "a{}: {}: expected {a,b,c}, {a..b/k} for k even steps or {a..b*r} for steps by a factor"},
      {"{,}", "a value is empty"},
      {"{1,}", "a value is empty"},
      {"{,1}", "a value is empty"},
      {"{1,2,1}", "the value 1 appears twice"},
      {"x={0.1,0.10}", "the value 0.10 appears twice"},
      {"x={1,1e0}", "the value 1e0 appears twice"},
      {"{1..4/4,7}", "'1..4/4' is a range in a list"},
      {"{1..4}", "no step; expected {1..4/k} for k even steps or {1..4*r}"},
      {"{..}", "no step"},
      {"{../3}", "'' is not a finite number"},
      {"{1../3}", "'' is not a finite number"},
      {"{a..z/3}", "'a' is not a finite number"},
      {"{nan..1/3}", "'nan' is not a finite number"},
      {"{0..inf/3}", "'inf' is not a finite number"},
      {"{0..1e999/3}", "'1e999' is not a finite number"},
      {"{1..2*nan}", "'nan' is not a finite number"},
      {"{1..2*inf}", "'inf' is not a finite number"},
      {"{1..2/3*4}", "'3*4' values, expected a whole number"},
      {"{0...5/3}", "three dots"},
      {"{1..2/}", "'' values, expected a whole number from 1 to 10000"},
      {"{1..2/0}", "'0' values"},
      {"{1..2/-1}", "'-1' values"},
      {"{1..2/2.5}", "'2.5' values"},
      {"{1..2/1e3}", "'1e3' values"},
      {"{1..2/10001}", "'10001' values, expected a whole number from 1 to 10000"},
      {"{1..1000000000/1000000000}", "'1000000000' values, expected a whole number from 1 to 10000"},
      {"{1..2/99999999999999999999}", "'99999999999999999999' values"},
      {"{1..2/1}", "1 value from 1 to 2, expected at least 2"},
      {"{3..3/2}", "2 equal values; write 3 alone"},
      {"{1..1.0000000000000002/5}", "appears twice"},
      {"{1..8*1}", "the factor is 1, expected a number above 1"},
      {"{1..8*0.5}", "the factor is 0.5"},
      {"{1..8*-2}", "the factor is -2"},
      {"{0..8*2}", "begins at 0, expected a number above 0"},
      {"{-1..8*2}", "begins at -1"},
      {"{8..1*2}", "ends at 1, below its beginning"},
      {"{9007199254740993..9007199254740992*2}", "below its beginning"},
      {"{1..1e300*1.0000000000000002}", "more than 10000 values; use a larger factor"},
      {"x={1,2},x={3,4}", "'x=' stands before braces twice"},
      {"{1}{1}{1}{1}{1}{1}{1}{1}{1}{1}{1}{1}{1}{1}{1}{1}{1}", "more than 16 pairs of braces"},
  };
  for (const auto& c : cases) {
    const std::string text = usage_text([&] { parse_grid(c.text); });
    EXPECT_TRUE(text.starts_with(std::string(c.text) + ": ")) << text;
    EXPECT_NE(text.find(c.says), std::string::npos) << c.text << " -> " << text;
  }
}

// What is equal as a number is not the same directory.
TEST(Grid, WordsOfAPathMayBeEqualNumbers) { EXPECT_EQ(points("step{1,01}"), (Texts{"step1", "step01"})); }

TEST(Grid, AbsurdTextsGetShortErrors) {
  const std::string commas = "a={" + std::string(60'000, ',') + "}";
  EXPECT_NE(usage_text([&] { parse_grid(commas); }).find("60001 values, expected at most 10000"), std::string::npos);
  EXPECT_NE(usage_text([] { parse_grid(std::string(65'537, 'x')); }).find("65537 bytes, expected at most 65536"),
            std::string::npos);
  EXPECT_EQ(points(std::string(65'536, 'x')).size(), 1U);
  for (const std::string& text : {commas, std::string(1'000'000, '{'), "{" + std::string(60'000, '9') + "..1/2}",
                                  "{1..2/" + std::string(60'000, '9') + "}", std::string(60'000, '\xA4') + "{"}) {
    EXPECT_LE(usage_text([&] { parse_grid(text); }).size(), 1000U);
  }
  // Cut before a character, not inside it.
  std::string umlauts = "x";
  for (int i = 0; i < 300; ++i) umlauts += "\xC3\xA4";
  const std::string error = usage_text([&] { parse_grid(umlauts + "{"); });
  EXPECT_TRUE(error.starts_with(umlauts.substr(0, 199) + "...: ")) << error;
}

}  // namespace
}  // namespace rankfall
