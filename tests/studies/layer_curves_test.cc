#include "studies/layer_curves.h"

#include <gtest/gtest.h>

#include "studies/measure/answers.h"
#include <rankfall/report.h>

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
  EXPECT_EQ(said(dying, "float32 "),
            "tokens are identical to float32 precision from layer 2 on (0.61 → 0.018 → 7.0×10^-7)");
  EXPECT_EQ(said(curve({2e-7, 2e-7}, 2)), "tokens are identical to working precision from layer 0 on");
}

TEST(Finding, ShortensALongWay) {
  EXPECT_EQ(said(curve({0.9, 0.8, 0.1, 0.01, 1e-4, 2e-7}, 1)),
            "tokens are identical to working precision from layer 5 on (0.90 → 0.80 → … → 2.0×10^-7)");
  EXPECT_EQ(said(curve({0.9, 0.8, 0.1, 2e-7}, 1)),
            "tokens are identical to working precision from layer 3 on (0.90 → 0.80 → 0.10 → 2.0×10^-7)");
}

TEST(Finding, SaysWhatIsKept) {
  EXPECT_EQ(finding(curve({0.6, 0.5, 0.41}), "v", "").tone, Tone::kGood);
  EXPECT_EQ(said(curve({0.6, 0.5, 0.41})), "retains 68 % of its residual (0.60 to 0.41 at layer 2)");
  EXPECT_EQ(said(curve({0.6, 0.7})), "grows to 117 % of its residual (0.60 to 0.70 at layer 1)");
  EXPECT_EQ(said(curve({0.598, 0.601})), "retains 101 % of its residual (0.60 to 0.60 at layer 1)");
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
  EXPECT_EQ(said(curve({0, 0})), "is 0 up to layer 1");
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

TEST(Fate, SaysWhatBecameOfIt) {
  const auto words = [](const LayerCurves& of) { return fate_of(of, "v").words("float32 "); };
  EXPECT_EQ(words(curve({0.612, 0.0176, 6.99e-7, 1.9e-7}, 2)),
            "tokens become identical to float32 precision within 2 layers");
  EXPECT_EQ(words(curve({0.6, 0.002})), "the relative residual falls from 0.60 to 0.0020 in 1 layer");
  EXPECT_EQ(words(curve({0.97, 0.91})), "94 % of the residual remains after 1 layer");
  EXPECT_EQ(words(curve({0.6, 0.7})), "the residual grows to 117 % in 1 layer");
  EXPECT_EQ(words(curve({0, 0})), "all tokens are identical");
  EXPECT_FALSE(fate_of(curve({0.97, 0.2}), "v").collapses());
  EXPECT_TRUE(fate_of(curve({0.97, 0.09}), "v").collapses());
}

TEST(ModelComparison, SortsStepsAsNumbersAndTakesTheFirstAsReference) {
  std::vector<LayerCurves> all;
  for (const char* name : {"step100", "step9", "step10"}) {
    all.push_back(curve({0.9, name == std::string("step9") ? 0.5 : 0.75}));
    all.back().model = name;
    all.back().metric = "relative_residual.composite";
  }
  const Figure figure = model_comparison({&all[0], &all[1], &all[2]});
  const auto& table = std::get<Table>(figure.nodes.at(0));
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "step9");
  EXPECT_EQ(std::get<std::string>(table.rows[1][0]), "step10");
  EXPECT_EQ(std::get<std::string>(table.rows[2][0]), "step100");
  EXPECT_EQ(std::get<Number>(table.rows[2][1]).value, 0.75);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.rows[0][2]));
  EXPECT_EQ(std::get<Number>(table.rows[2][2]).value, 0.25);
}

LayerCurves ablated(const std::vector<std::pair<std::string, double>>& last) {
  LayerCurves of;
  of.model = "gpt2";
  of.metric = "relative_residual.composite";
  for (const auto& [variant, value] : last) {
    of.variants.add(variant);
    for (Index layer = 0; layer < 2; ++layer) {
      Point point;
      point.x = static_cast<double>(layer);
      point.series = variant;
      point.value = layer == 0 ? 1 : value;
      of.curves.points.push_back(point);
    }
  }
  return of;
}

std::string ablation_said(const LayerCurves& of) { return ablation_answers({&of}, "float32 ").at(0).answer; }

TEST(Ablation, NamesThePartThatPreventsCollapse) {
  EXPECT_EQ(
      ablation_said(ablated({{"full", 0.9}, {"-attn_skip", 0.01}, {"-mlp", 0.8}, {"-attn_skip,-mlp", 0.001}})),
      "gpt2: The skip connection around attention prevents collapse: without it, the relative residual falls from 1.0 "
      "to 0.010 in 1 layer; in the full model, 90 % of the residual remains after 1 layer.");
  EXPECT_EQ(
      ablation_said(ablated({{"full", 0.9}, {"-attn_skip", 0.5}, {"-mlp", 0.8}, {"-attn_skip,-mlp", 0.001}})),
      "gpt2: No single part prevents collapse: the largest effect is that of the skip connection around attention, "
      "without which 50 % of the residual remains after 1 layer. Without the skip connection around attention "
      "and the MLPs together, the relative residual falls from 1.0 to 0.0010 in 1 layer.");
  EXPECT_EQ(
      ablation_said(ablated({{"full", 0.05}, {"-norm", 0.01}})),
      "gpt2: The full model collapses: the relative residual falls from 1.0 to 0.050 in 1 layer. The largest further "
      "loss is without the norms: the relative residual falls from 1.0 to 0.010 in 1 layer.");
}

TEST(Ablation, HasATableOfEffects) {
  const LayerCurves of = ablated({{"full", 0.5}, {"-mlp", 0.25}});
  const auto& table = std::get<Table>(ablation_figure({&of}, "").nodes.at(0));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(std::get<Number>(table.rows[1][1]).value, 0.25);
  EXPECT_EQ(std::get<Number>(table.rows[1][2]).value, 0.5);
  EXPECT_FALSE(has_ablation(ablated({{"full", 0.5}, {"san", 0.1}})));
}

TEST(CollapseAnswers, SayWhatPreventsCollapse) {
  const LayerCurves of = ablated({{"full", 0.9}, {"san", 0.01}, {"san+mlp", 0.01}, {"san+skip", 0.8}});
  const std::vector<Answer> answers = collapse_answers({&of}, "float32 ", false);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(
      answers[0].answer,
      "gpt2: Without skip connections and MLPs (san) and without skip connections (san+mlp), the relative residual "
      "falls from 1.0 to 0.010 in 1 layer.");
  EXPECT_EQ(answers[1].answer,
            "Skip connections prevent collapse; MLPs alone do not. In the full model, 90 % of the residual remains "
            "after 1 layer. Without MLPs (san+skip), 80 % of the residual remains after 1 layer.");
}

TEST(LayerCurves, ShowTheDeviationOverSeeds) {
  Row row = layer_row("full", 0, 0.5);
  row.kind = "seeds";
  row.std = 0.125;
  const Curves curves = layer_curves({&row}).at(0).curves;
  EXPECT_TRUE(curves.deviations);
  EXPECT_EQ(curves.mean, "arithmetic mean over 32 seeds, ± standard deviation over seeds");
}

// Half of an interval's width is not a deviation.
TEST(LayerCurves, IntervalsTakeThePlaceOfDeviations) {
  Result result;
  result.command = "measure";
  Row row = layer_row("full", 0, 0.5);
  row.kind = "seeds";
  row.std = 0.125;
  result.rows = {row, row, row};
  result.rows[1].metric = "interval_low." + row.metric;
  result.rows[1].mean = 0.375;
  result.rows[2].metric = "interval_high." + row.metric;
  result.rows[2].mean = 0.75;
  const std::string text = to_table(result, {.colour = false, .width = 100, .unicode = true});
  EXPECT_NE(text.find("0.375..0.750"), std::string::npos) << text;
  EXPECT_NE(text.find("95 % interval, bootstrap over seeds and their samples"), std::string::npos) << text;
  EXPECT_EQ(text.find("±"), std::string::npos) << text;
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
