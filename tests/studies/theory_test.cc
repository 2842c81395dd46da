#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "contract.h"
#include <rankfall/error.h>
#include <rankfall/theory.h>

namespace rankfall {
namespace {

Result theory_of(const std::string& model, TheoryOptions options) {
  if (!options.input.n_samples) options.input.n_samples = 2;
  if (!options.input.n_tokens) options.input.n_tokens = 16;
  return theory(std::vector<std::string>{model}, options);
}

const Row* find_row(const Result& result, const std::string& variant, Index layer, const std::string& metric) {
  for (const Row& row : result.rows) {
    if (row.variant == variant && row.layer == layer && row.metric == metric) return &row;
  }
  return nullptr;
}

TEST(Theory, KeepsTheContract) {
  TheoryOptions options;
  options.metrics = {"rank"};
  expect_contract(theory_of("san:layers=3,heads=2,dim=32,mlp=64", options));
  options.compare = true;
  options.n_seeds = 2;
  options.draws = 8;
  expect_contract(theory_of("san:layers=2,heads=2,dim=32,mask=causal", options));
  options.compare = false;
  options.variants = {variant_named("full")};
  expect_contract(theory_of("san:layers=3,heads=2,dim=32,shared=1", options));
  options.variants = {paper_variants(true)[1]};  // an activation where ALBERT's MLP was
  options.depth = 1;
  const Result refused = theory_of("albert-base@init", options);
  expect_contract(refused);
  ASSERT_EQ(refused.rows.size(), 1U);
  EXPECT_EQ(refused.rows[0].status, Status::kNotCarried);
  EXPECT_EQ(refused.rows[0].reason, Reason::kNoWeights);
}

TEST(Theory, GoesBelowEveryDouble) {
  TheoryOptions options;
  options.variants = {variant_named("san")};
  const Result result = theory_of("san:layers=40,heads=4,dim=64", options);
  const Row* last = find_row(result, "san", 40, "log10_relative_residual.frobenius");
  const Row* before = find_row(result, "san", 39, "log10_relative_residual.frobenius");
  ASSERT_TRUE(last && last->mean && before && before->mean);
  EXPECT_LT(*last->mean, -1e15);
  EXPECT_NEAR(*last->mean / *before->mean, 3, 1e-6);
  const Row* plain = find_row(result, "san", 40, "relative_residual.frobenius");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->status, Status::kOutOfRange);
  EXPECT_FALSE(plain->mean);
}

TEST(Theory, SaysHowItWasDone) {
  TheoryOptions options;
  options.variants = {variant_named("full")};
  options.draws = 8;
  const Result closed = theory_of("san:layers=2,heads=2,dim=32", options);
  EXPECT_EQ(find_row(closed, "full", 2, "cosine.mean")->kind, "closed");
  EXPECT_EQ(find_row(closed, "full", 2, "standard_error.cosine.mean"), nullptr);
  options.method = TheoryMethod::kSampled;
  const Result sampled = theory_of("san:layers=2,heads=2,dim=32", options);
  EXPECT_EQ(find_row(sampled, "full", 2, "cosine.mean")->kind, "sampled");
  EXPECT_GT(find_row(sampled, "full", 2, "standard_error.cosine.mean")->mean.value_or(0), 0);
}

TEST(Theory, RefusesWhatItCannotPredict) {
  TheoryOptions options;
  options.metrics = {"attention.entropy"};
  EXPECT_THROW(theory_of("san:layers=2,heads=2,dim=32", options), Error);
  options.metrics.clear();
  options.chains = 1;
  EXPECT_THROW(theory_of("san:layers=2,heads=2,dim=32", options), Error);
}

}  // namespace
}  // namespace rankfall
