#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "contract.h"
#include "studies/theory/predictions.h"
#include <rankfall/measure.h>
#include <rankfall/sample.h>
#include <rankfall/theory.h>

// gradient.W_Q, gradient.W_K and gradient.W_V as `measure` and `theory` write them.

namespace rankfall {
namespace {

const std::vector<std::string> kProjections = {"gradient.W_Q", "gradient.W_K", "gradient.W_V"};

MeasureOptions gradient_measure() {
  MeasureOptions options;
  options.metrics = {"gradient"};
  options.input.n_samples = 2;
  options.input.n_tokens = 8;
  return options;
}

TheoryOptions gradient_theory() {
  TheoryOptions options;
  options.metrics = {"gradient"};
  options.draws = 64;
  options.input.n_samples = 2;
  options.input.n_tokens = 8;
  return options;
}

const Row* gradient_row(const Result& result, const std::string& variant, Index layer, const std::string& metric) {
  for (const Row& row : result.rows) {
    if (row.variant == variant && row.layer == layer && row.metric == metric && !row.seed) return &row;
  }
  return nullptr;
}

TEST(GradientRows, OnePerVariantBlockAndProjection) {
  const std::vector<std::string> models = {"san:layers=3,heads=2,dim=16,std=0.2,mlp=24"};
  const Result result = measure(models, gradient_measure());
  expect_contract(result);
  for (const char* variant : {"full", "san", "san+mlp", "san+skip"}) {
    for (const std::string& metric : kProjections) {
      EXPECT_FALSE(gradient_row(result, variant, 0, metric));
      for (Index layer = 1; layer <= 3; ++layer) {
        const Row* row = gradient_row(result, variant, layer, metric);
        ASSERT_TRUE(row && row->mean) << variant << " " << layer << " " << metric;
        EXPECT_GT(*row->mean, 0);
        EXPECT_EQ(row->n, 2);
      }
    }
  }
  // Nothing of it unless asked for.
  MeasureOptions plain = gradient_measure();
  plain.metrics.clear();
  for (const Row& row : measure(models, plain).rows) EXPECT_FALSE(row.metric.starts_with("gradient"));
}

TEST(GradientRows, OverSeeds) {
  MeasureOptions options = gradient_measure();
  options.n_seeds = 3;
  options.variants = {variant_named("full")};
  const Result result = measure(std::vector<std::string>{"san:layers=2,heads=2,dim=16,mlp=24"}, options);
  expect_contract(result);
  double sum = 0;
  int n = 0;
  for (const Row& row : result.rows) {
    if (row.metric != "gradient.W_Q" || row.layer != 2 || !row.seed) continue;
    sum += *row.mean;
    ++n;
  }
  EXPECT_EQ(n, 3);
  const Row* over = gradient_row(result, "full", 2, "gradient.W_Q");
  ASSERT_TRUE(over);
  EXPECT_EQ(over->kind, "seeds");
  EXPECT_NEAR(*over->mean, sum / 3, 1e-12 * sum);
}

// Behind tokens that only rounding tells apart, the gradients of queries and keys are rounding, and marked.
TEST(GradientRows, AreMarkedWhereTheyAreRounding) {
  MeasureOptions options = gradient_measure();
  options.variants = {variant_named("san")};
  const Result result = measure(std::vector<std::string>{"san:layers=6,heads=2,dim=32"}, options);
  expect_contract(result);
  EXPECT_EQ(gradient_row(result, "san", 1, "gradient.W_Q")->status, Status::kNone);
  EXPECT_EQ(gradient_row(result, "san", 6, "gradient.W_Q")->status, Status::kRoundingFloor);
  EXPECT_EQ(gradient_row(result, "san", 6, "gradient.W_K")->status, Status::kRoundingFloor);
  EXPECT_EQ(gradient_row(result, "san", 6, "gradient.W_V")->status, Status::kNone);
}

TEST(GradientRows, AreExactlyZeroForEqualTokens) {
  const Model model = open_model("san:layers=2,heads=2,dim=16,mlp=24", 0);
  Sample sample;
  sample.content = TokenIds(6, 3);
  MeasureOptions options = gradient_measure();
  options.variants = {variant_named("full")};
  const Result result = measure(model, std::span(&sample, 1), options);
  EXPECT_EQ(gradient_row(result, "full", 2, "gradient.W_Q")->status, Status::kExactlyZero);
  EXPECT_EQ(gradient_row(result, "full", 2, "gradient.W_Q")->mean, 0);
  EXPECT_GT(*gradient_row(result, "full", 2, "gradient.W_V")->mean, 0);
}

TEST(GradientRows, SayWhatIsNotCarried) {
  MeasureOptions options = gradient_measure();
  options.variants =
      with_attentions({variant_named("full")}, {attention_named("full"), attention_named("linformer:k=4")});
  options.n_seeds = 2;
  const std::vector<std::string> models = {"san:layers=2,heads=2,dim=16,mlp=24"};
  const Result result = measure(models, options);
  expect_contract(result);
  int refused = 0;
  for (const Row& row : result.rows) {
    EXPECT_TRUE(row.variant == "full" || !row.metric.starts_with("gradient.")) << row.variant;
    if (row.metric != "gradient" || row.seed) continue;
    EXPECT_EQ(row.status, Status::kNotCarried);
    EXPECT_EQ(row.reason, Reason::kLowRank);
    ++refused;
  }
  EXPECT_EQ(refused, 1);

  TheoryOptions predicted = gradient_theory();
  predicted.variants = {variant_named("full")};
  const Result shared = theory(std::vector<std::string>{"san:layers=2,heads=2,dim=16,shared=1"}, predicted);
  expect_contract(shared);
  int found = 0;
  for (const Row& row : shared.rows) {
    EXPECT_FALSE(row.metric.starts_with("gradient.")) << row.metric;
    if (row.metric != "theory") continue;
    EXPECT_EQ(row.kind, "gradient");
    EXPECT_EQ(row.status, Status::kNotCarried);
    EXPECT_EQ(row.reason, Reason::kSharedWeights);
    ++found;
  }
  EXPECT_EQ(found, 1);
  EXPECT_TRUE(gradient_row(shared, "full", 2, "cosine.mean"));  // states are carried
}

TEST(GradientRows, StandBesideTheMeasurement) {
  TheoryOptions options = gradient_theory();
  options.compare = true;
  options.n_seeds = 5;
  options.variants = {variant_named("full"), variant_named("san")};
  const Result result = theory(std::vector<std::string>{"san:layers=3,heads=4,dim=128,mlp=256"}, options);
  expect_contract(result);
  for (const std::string& metric : kProjections) {
    for (Index layer = 1; layer <= 3; ++layer) {
      const Row* predicted = gradient_row(result, "full", layer, metric);
      const Row* measured = gradient_row(result, "full", layer, "measured." + metric);
      ASSERT_TRUE(predicted && measured) << metric << layer;
      EXPECT_NEAR(std::log10(*predicted->mean / *measured->mean), 0, 0.06) << metric << layer;
    }
    const Row* first = gradient_row(result, "san", 1, metric);
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->kind == "closed" || first->kind == "sampled");
  }
}

// As measure --theory does.
TEST(GradientRows, ArePredictedBesideMeasure) {
  MeasureOptions options = gradient_measure();
  options.variants = {variant_named("full"), variant_named("san")};
  const std::vector<std::string> models = {"san:layers=2,heads=2,dim=64,mlp=128"};
  Result result = measure(models, options);
  add_predictions({models, options.variants, {}, options.seed, options.input}, {}, result);
  expect_contract(result);
  for (const std::string& metric : kProjections) {
    const Row* measured = gradient_row(result, "full", 2, metric);
    const Row* predicted = gradient_row(result, "full", 2, "predicted." + metric);
    ASSERT_TRUE(measured && predicted) << metric;
    EXPECT_NEAR(std::log10(*predicted->mean / *measured->mean), 0, 0.2) << metric;
  }
}

TEST(GradientRows, GoBelowEveryDouble) {
  TheoryOptions options = gradient_theory();
  options.variants = {variant_named("san")};
  const Result result = theory(std::vector<std::string>{"san:layers=12,heads=4,dim=64"}, options);
  expect_contract(result);
  const Row* last = gradient_row(result, "san", 12, "gradient.W_Q");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->status, Status::kOutOfRange);
  EXPECT_FALSE(last->mean);
  EXPECT_GT(gradient_row(result, "san", 12, "gradient.W_V")->mean.value_or(0), 0);
}

}  // namespace
}  // namespace rankfall
