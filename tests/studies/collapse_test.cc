#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "result/prose_format.h"
#include <rankfall/collapse.h>
#include <rankfall/error.h>
#include <rankfall/measure.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

CollapseOptions small_collapse() {
  CollapseOptions options;
  options.input.n_samples = 3;
  options.input.n_tokens = 12;
  return options;
}

const std::vector<std::string> kTiny = {"san:layers=6,heads=2,dim=16,std=0.1,mlp=24"};

const Row& find(const Result& result, std::string_view variant, std::optional<Index> layer, std::string_view metric,
                std::string_view kind = "exact", std::optional<Index> sample = std::nullopt) {
  for (const Row& row : result.rows) {
    if (row.variant == variant && row.layer == layer && row.metric == metric && row.kind == kind &&
        row.sample == sample)
      return row;
  }
  throw std::runtime_error("no such row: " + std::string(metric));
}

TEST(Collapse, PureAttentionFallsForEver) {
  const Result result = collapse(kTiny, small_collapse());
  EXPECT_LT(find(result, "san", 6, "log10_relative_residual.composite").mean.value(), -250);
  EXPECT_NEAR(find(result, "san", 6, "local_exponent").mean.value(), 3, 0.01);
  EXPECT_EQ(find(result, "san", 6, "log10_residual.spectral").status, Status::kBelowFloat64);
  EXPECT_EQ(find(result, "san", {}, "decay", "relative_residual").status, Status::kDoublyExponential);
  EXPECT_NEAR(find(result, "san", {}, "decay", "residual").mean.value(), 3, 0.01);
  EXPECT_EQ(find(result, "full", {}, "rounding_layer", "f64").status, Status::kNotReached);
  const double f32 = find(result, "san", {}, "rounding_layer", "f32").mean.value();
  const double f64 = find(result, "san", {}, "rounding_layer", "f64").mean.value();
  EXPECT_LE(2, f32);
  EXPECT_LE(f32, f64);
  EXPECT_LE(f64, 4);
}

TEST(Collapse, MeansAreOverTheSamples) {
  const Result result = collapse(kTiny, small_collapse());
  for (const char* metric : {"log10_residual.one", "log10_relative_residual.inf", "local_exponent"}) {
    double sum = 0;
    for (Index s = 0; s < 3; ++s) sum += find(result, "san", 4, metric, "exact", s).mean.value();
    EXPECT_NEAR(find(result, "san", 4, metric).mean.value(), sum / 3, 1e-12 * std::abs(sum)) << metric;
    EXPECT_EQ(find(result, "san", 4, metric).n, 3);
  }
  // The growth factor is the step of the mean logarithm.
  const double step = find(result, "full", 4, "log10_residual.composite").mean.value() -
                      find(result, "full", 3, "log10_residual.composite").mean.value();
  EXPECT_NEAR(std::log10(find(result, "full", 4, "growth_factor").mean.value()), step, 1e-12);
  EXPECT_FALSE(find(result, "san", 6, "growth_factor").verdict.empty() &&
               !find(result, "san", 6, "growth_factor").mean.has_value());
}

TEST(Collapse, OffersTheArithmeticMeanAtAnyDepth) {
  CollapseOptions options = small_collapse();
  options.arithmetic = true;
  const Result result = collapse(kTiny, options);
  for (const Index layer : {Index{0}, Index{6}}) {
    double largest = -INFINITY, sum = 0;
    for (Index s = 0; s < 3; ++s) {
      largest = std::max(largest, *find(result, "san", layer, "log10_relative_residual.one", "exact", s).mean);
    }
    for (Index s = 0; s < 3; ++s) {
      sum += std::pow(10, *find(result, "san", layer, "log10_relative_residual.one", "exact", s).mean - largest);
    }
    const Row& mean = find(result, "san", layer, "log10_mean_relative_residual.one");
    EXPECT_NEAR(*mean.mean, largest + std::log10(sum / 3), 1e-9);
    EXPECT_GE(*mean.mean, *find(result, "san", layer, "log10_relative_residual.one").mean);
    EXPECT_EQ(mean.n, 3);
  }
  const Result plain = collapse(kTiny, small_collapse());
  EXPECT_EQ(find(plain, "full", 3, "log10_residual.one").mean, find(result, "full", 3, "log10_residual.one").mean);
}

TEST(Collapse, AgreesWithMeasureWhereFloatsSee) {
  MeasureOptions options;
  CollapseOptions one = small_collapse();
  one.input.n_samples = 1;  // so that a mean of logarithms is the logarithm of the mean
  options.input = one.input;
  options.precision = Precision::kF64;
  options.metrics = {"spectral"};
  const Result measured = measure(kTiny, options);
  const Result exact = collapse(kTiny, one);
  for (const Row& row : measured.rows) {
    if (row.variant != "full" || !row.metric.starts_with("relative_residual.")) continue;
    EXPECT_NEAR(find(exact, "full", row.layer, "log10_" + row.metric).mean.value(), std::log10(*row.mean), 1e-12)
        << row.metric;
  }
}

TEST(Collapse, RowsOfPrecisionsSayWhatIsRounding) {
  const Result result = collapse(kTiny, small_collapse());
  EXPECT_EQ(find(result, "san", 6, "log10_residual.composite", "f32").status, Status::kRoundingFloor);
  EXPECT_EQ(find(result, "san", 1, "log10_residual.composite", "f32").status, Status::kNone);
  EXPECT_GT(find(result, "san", 6, "log10_relative_residual.composite", "f32").mean.value_or(0), -9);
  EXPECT_GT(find(result, "san", 6, "log10_relative_residual.composite", "f64").mean.value_or(0), -18);
}

TEST(Collapse, WithoutFloatsAndSamplesThereAreNone) {
  CollapseOptions options = small_collapse();
  options.floats = false;
  options.each_sample = false;
  for (const Row& row : collapse(kTiny, options).rows) {
    EXPECT_FALSE(row.sample);
    EXPECT_NE(row.kind, "f32");
    EXPECT_NE(row.kind, "f64");
  }
}

TEST(Collapse, DepthDrawsMoreLayersOrRepeatsThem) {
  CollapseOptions options = small_collapse();
  options.variants = {variant_named("san+skip")};
  options.depth = 40;
  const std::vector<std::string> drawn = {"san:layers=2,heads=2,dim=16,std=0.2"};
  const Result deep = collapse(drawn, options);
  EXPECT_NO_THROW(find(deep, "san+skip", 40, "log10_residual.composite"));
  EXPECT_THROW(find(deep, "san+skip", 41, "log10_residual.composite"), std::runtime_error);
  // Drawn layers are those of a specification with as many.
  options.depth.reset();
  const std::vector<std::string> same = {"san:layers=40,heads=2,dim=16,std=0.2"};
  EXPECT_EQ(find(deep, "san+skip", 40, "log10_residual.composite").mean,
            find(collapse(same, options), "san+skip", 40, "log10_residual.composite").mean);

  const auto folder = std::filesystem::path(RANKFALL_TEST_DATA) / "families/bert";
  const std::vector<std::string> checkpoint = {folder.string()};
  options.depth = 7;
  EXPECT_NO_THROW(find(collapse(checkpoint, options), "san+skip", 7, "log10_residual.composite"));
  options.depth = 0;
  EXPECT_THROW(collapse(checkpoint, options), Error);
}

// Networks in which tokens gather in two groups; then attention forgets one of them, and what is left is the difference
// within the other, far below the rounding of the distance between the groups. Against 1,000 digits the first is off by
// 1e-5 from state 5 on, the second by whole decades.
TEST(Collapse, SaysWhenDoubleDoesNotCarryTheResidual) {
  const auto errors = [](const char* spec, std::uint64_t seed, std::vector<std::uint8_t> valid) {
    Model model = open_model(spec, seed);
    Sample sample = random_samples(model.network, seed + 5, 1, 5)[0];
    sample.valid = std::move(valid);
    model.network = with_depth(model.network, 9);
    CollapseOptions options;
    options.variants = {variant_without("attn_skip,mlp_skip,norm")};
    return collapse(model, std::span(&sample, 1), options);
  };
  const char* variant = "-attn_skip,-mlp_skip,-norm";
  const std::string size = "san:layers=3,heads=3,dim=12,std=0.4,vocab=50,norm=post,mlp=20,";
  const Result some = errors((size + "act=relu").c_str(), 4, {0, 1, 1, 0, 1});
  EXPECT_LT(find(some, variant, 3, "log10_error").mean.value(), 1e-11);
  EXPECT_GT(find(some, variant, 5, "log10_error").mean.value_or(1), 1e-7);
  const Result none = errors((size + "shared=1,embed=5,act=silu").c_str(), 3, {});
  EXPECT_EQ(find(none, variant, 5, "log10_error").status, Status::kNotCarried);
  EXPECT_EQ(find(none, variant, 5, "log10_residual.composite").status, Status::kNotCarried);
  // And nothing is said where there is nothing to say.
  const Result good = collapse(kTiny, small_collapse());
  for (Index l = 0; l <= 6; ++l) {
    const double log10_residual = find(good, "san", l, "log10_residual.composite").mean.value();
    EXPECT_LT(find(good, "san", l, "log10_error").mean.value(), 1e-12 + 1e-13 * std::abs(log10_residual));
  }
}

TEST(Collapse, EqualTokensHaveNothingToLose) {
  const Model model = open_model(kTiny[0], 3);
  const Sample sample{TokenIds{5, 5, 5, 5}, {}, {}};
  CollapseOptions options;
  options.variants = {variant_named("full")};
  const Result result = collapse(model, std::span(&sample, 1), options);
  EXPECT_EQ(find(result, "full", 3, "log10_residual.composite").status, Status::kExactlyZero);
  EXPECT_FALSE(find(result, "full", 3, "log10_residual.composite").mean);
  EXPECT_EQ(find(result, "full", {}, "decay", "residual").status, Status::kExactlyZero);
  for (const Row& row : result.rows) EXPECT_TRUE(!row.mean || std::isfinite(*row.mean)) << row.metric;
}

TEST(Collapse, PureAttentionEndsWithTheRangeOfLogarithms) {
  CollapseOptions options = small_collapse();
  options.floats = false;
  options.each_sample = false;
  options.variants = {variant_named("san")};
  options.depth = 700;
  const std::vector<std::string> spec = {"san:layers=1,heads=1,dim=4,std=0.3,shared=1"};
  const Result result = collapse(spec, options);
  EXPECT_LT(find(result, "san", 600, "log10_residual.composite").mean.value(), -1e250);
  EXPECT_EQ(find(result, "san", 700, "log10_residual.composite").status, Status::kOutOfRange);
}

TEST(Collapse, RefusesWhatCannotBe) {
  EXPECT_THROW(collapse(std::vector<std::string>{}, small_collapse()), Error);
  EXPECT_THROW(collapse(std::vector<std::string>{kTiny[0], kTiny[0]}, small_collapse()), Error);
  // Before anything is computed, and with what could be done.
  CollapseOptions options = small_collapse();
  options.variants = with_attentions({variant_named("san"), variant_named("full")},
                                     {attention_named("gaussian"), attention_named("performer")});
  options.progress = [](double, double, std::string_view) { FAIL(); };
  try {
    collapse(kTiny, options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(
        error.what(),
        "variants san performer; full performer: mean and residual can be kept apart only where P is a softmax "
        "of logits: full, gaussian, window and bigbird. `rankfall measure` follows the other kinds of "
        "attention, down to rounding. Of those asked for san gaussian; full gaussian can be followed");
  }
}

}  // namespace
}  // namespace rankfall
