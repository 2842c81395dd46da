#include "studies/layer_curves.h"

#include <gtest/gtest.h>

namespace rankfall {
namespace {

constexpr double kAbsent = -1;

// One variant; the last `n_floor` values are at the rounding floor.
LayerCurves curve(const std::vector<double>& values, std::size_t n_floor = 0) {
  LayerCurves of;
  of.variants.add("v");
  for (std::size_t i = 0; i < values.size(); ++i) {
    Point point;
    point.x = static_cast<double>(i);
    point.series = "v";
    if (values[i] != kAbsent) point.value = values[i];
    if (i + n_floor >= values.size()) point.status = Status::kRoundingFloor;
    of.curves.points.push_back(point);
  }
  return of;
}

std::string said(const LayerCurves& of, std::string_view precision = "") { return finding(of, "v", precision).text; }

TEST(Finding, SaysWhereTheFloorIsReached) {
  const LayerCurves dying = curve({0.612, 0.0176, 6.99e-7, 1.9e-7}, 2);
  EXPECT_EQ(finding(dying, "v", "").tone, Tone::kBad);
  EXPECT_EQ(said(dying, "float32 "), "reaches the float32 rounding floor at layer 2 (0.61 → 0.018 → 7.0e-07)");
  EXPECT_EQ(said(curve({2e-7, 2e-7}, 2)), "is at the rounding floor from layer 0 on");
}

TEST(Finding, ShortensALongWay) {
  EXPECT_EQ(said(curve({0.9, 0.8, 0.1, 0.01, 1e-4, 2e-7}, 1)),
            "reaches the rounding floor at layer 5 (0.90 → 0.80 → … → 2.0e-07)");
  EXPECT_EQ(said(curve({0.9, 0.8, 0.1, 2e-7}, 1)),
            "reaches the rounding floor at layer 3 (0.90 → 0.80 → 0.10 → 2.0e-07)");
}

TEST(Finding, SaysWhatIsKept) {
  EXPECT_EQ(finding(curve({0.6, 0.5, 0.41}), "v", "").tone, Tone::kGood);
  EXPECT_EQ(said(curve({0.6, 0.5, 0.41})), "keeps 0.41 of 0.60 at layer 2");
  EXPECT_EQ(said(curve({0.6, 0.7})), "grows from 0.60 to 0.70 at layer 1");
  EXPECT_EQ(said(curve({0.598, 0.601})), "stays at 0.60 up to layer 1");
}

TEST(Finding, SaysWhereItFell) {
  EXPECT_EQ(finding(curve({0.6, 0.05, 0.1, 0.05, 0.002}), "v", "").tone, Tone::kWarning);
  EXPECT_EQ(said(curve({0.6, 0.05, 0.1, 0.05, 0.002})),
            "falls from 0.60 to 0.0020 at layer 4, below a tenth from layer 3 on");
}

TEST(Finding, OfAFloorThatIsLeftAgain) {
  LayerCurves of = curve({0.6, 2e-7, 0.3});
  of.curves.points[1].status = Status::kRoundingFloor;
  EXPECT_EQ(said(of), "touches the rounding floor at layer 1 and is 0.30 at layer 2");
}

TEST(Finding, OfLittle) {
  EXPECT_EQ(said(curve({kAbsent, kAbsent})), "has no finite value");
  EXPECT_EQ(said(curve({kAbsent, 0.5})), "is 0.50 at layer 1");
  EXPECT_EQ(said(curve({0, 0})), "stays at 0 up to layer 1");
}

Row layer_row(const std::string& variant, Index layer, double mean) {
  Row row;
  row.model = "bert";
  row.variant = variant;
  row.metric = "relative_residual.composite";
  row.layer = layer;
  row.mean = mean;
  row.n = 32;
  return row;
}

TEST(LayerCurves, HeadsAndSeedsAreAMeanWithItsRange) {
  std::vector<Row> rows;
  for (Index i = 0; i < 2; ++i) {
    rows.push_back(layer_row("full", 0, 0.25 + 0.5 * static_cast<double>(i)));
    rows.back().seed = static_cast<std::uint64_t>(i);
    rows.push_back(layer_row("full", 0, 1.0 + static_cast<double>(i)));
    rows.back().metric = "attention.entropy";
    rows.back().head = i;
  }
  Rows pointers;
  for (const Row& row : rows) pointers.push_back(&row);
  const std::vector<LayerCurves> found = layer_curves(pointers);
  ASSERT_EQ(found.size(), 2U);
  const Point& seeds = found[0].curves.points.at(0);
  EXPECT_EQ(seeds.value, 0.5);
  EXPECT_EQ(seeds.low, 0.25);
  EXPECT_EQ(seeds.high, 0.75);
  EXPECT_NE(found[0].curves.about.find("mean over seeds, lowest..highest"), std::string::npos);
  EXPECT_EQ(found[1].curves.points.at(0).value, 1.5);
  EXPECT_EQ(found[1].curves.x, "block");
  EXPECT_EQ(found[1].curves.band, Band::kRange);
}

TEST(LayerCurves, SayWhichMeanItIsAndOverWhat) {
  Row row = layer_row("full", 0, 0.5);
  EXPECT_EQ(layer_curves({&row}).at(0).curves.mean, "arithmetic mean over 32 samples");
  row.kind = "seeds";
  EXPECT_EQ(layer_curves({&row}).at(0).curves.mean, "arithmetic mean over 32 seeds");
  row.kind = "exact";
  row.metric = "log10_relative_residual.composite";
  EXPECT_EQ(layer_curves({&row}).at(0).curves.mean, "mean of the logarithms over 32 samples");
}

}  // namespace
}  // namespace rankfall
