#include "studies/collapse/decay.h"

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rankfall/collapse.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

using Curve = std::vector<double>;

TEST(LocalExponent, IsTheRatioOfSteps) {
  const Curve cubic = {-1, -3, -9, -27};
  EXPECT_FALSE(local_exponent(cubic, 0));
  EXPECT_FALSE(local_exponent(cubic, 1));
  EXPECT_DOUBLE_EQ(local_exponent(cubic, 2).value(), 3);
  EXPECT_DOUBLE_EQ(local_exponent(cubic, 3).value(), 3);
  EXPECT_FALSE(local_exponent(cubic, 4));
  // Units do not matter: the same curve of a residual a thousand times as large.
  EXPECT_DOUBLE_EQ(local_exponent(Curve{2, 0, -6}, 2).value(), 3);
  EXPECT_DOUBLE_EQ(local_exponent(Curve{-1, -2, -3}, 2).value(), 1);
}

TEST(LocalExponent, SaysNothingAfterAStepTooSmall) {
  EXPECT_FALSE(local_exponent(Curve{-1, -1.049, -9}, 2));
  EXPECT_TRUE(local_exponent(Curve{-1, -1.051, -9}, 2));
  EXPECT_FALSE(local_exponent(Curve{-1, -3, -INFINITY}, 2));
}

TEST(DecayOf, PureAttentionIsDoublyExponential) {
  const Decay decay = decay_of(Curve{-0.2, -0.3, -2, -7.1, -22.4, -68.3});
  EXPECT_EQ(decay.law, Status::kDoublyExponential);
  EXPECT_EQ(decay.first, 2);
  EXPECT_EQ(decay.last, 5);
  EXPECT_NEAR(decay.low, 3, 1e-9);
  EXPECT_NEAR(decay.high, 17, 1e-9);
  EXPECT_EQ(
      decay_words(decay, Curve{-0.2, -0.3, -2, -7.1, -22.4, -68.3}),
      "doubly exponential decay: 0.631 to 10^-68.3 in 5 layers (local exponent 3.00 to 17.00 over layers 2 to 5)");
}

TEST(DecayOf, TwoCubicStepsAreNotEnough) {
  EXPECT_NE(decay_of(Curve{-1, -2, -3, -6, -15}).law, Status::kDoublyExponential);
  EXPECT_EQ(decay_of(Curve{-1, -2, -5, -14, -41}).law, Status::kDoublyExponential);
}

TEST(DecayOf, WhatGrowsDoesNotCollapse) { EXPECT_EQ(decay_of(Curve{0, 1, 4, 13, 40}).law, Status::kNoCollapse); }

TEST(DecayOf, GeometricDecayHasItsRate) {
  Curve curve;
  for (int l = 0; l <= 12; ++l) curve.push_back(-1.36 * l + (l % 2 == 0 ? 0.01 : -0.01));
  const Decay decay = decay_of(curve);
  EXPECT_EQ(decay.law, Status::kExponential);
  EXPECT_NEAR(decay.slope, -1.36, 0.005);
  EXPECT_GT(decay.r2, 0.999);
  EXPECT_EQ(decay.first, 6);
  EXPECT_EQ(decay.last, 12);
}

TEST(DecayOf, SizeDecides) {
  // A perfect line that falls by 6 % is no collapse, and one that falls by a third is no law yet.
  EXPECT_EQ(decay_of(Curve{0, -0.005, -0.01, -0.015, -0.02, -0.025}).law, Status::kNoCollapse);
  EXPECT_EQ(decay_of(Curve{0, -0.04, -0.08, -0.12, -0.16, -0.2}).law, Status::kIrregular);
  EXPECT_EQ(decay_of(Curve{0, -0.08, -0.16, -0.24, -0.32, -0.4}).law, Status::kExponential);
  EXPECT_EQ(decay_of(Curve{-0.2, -0.2, -0.2, -0.2, -0.2, -0.2}).law, Status::kNoCollapse);
  EXPECT_EQ(decay_of(Curve{-0.2, -0.3, -0.1, -0.4, -0.1, -0.3, -0.2}).law, Status::kNoCollapse);
  EXPECT_EQ(decay_of(Curve{-5, -4, -3, -2, -1, 0}).law, Status::kNoCollapse);
  // Falls, but by no steady factor.
  const Curve bent = {-0.01, -0.5, -0.53, -0.55, -0.57};
  EXPECT_EQ(decay_of(bent).law, Status::kIrregular);
  EXPECT_THAT(decay_words(decay_of(bent), bent),
              "irregular decay: 0.977 to 0.269 in 4 layers; no exponential fits (R² 0.61)");
}

TEST(DecayOf, FitsFiveStatesAtLeast) {
  const Curve short_one = {-0.2, -2, -3.8, -5.6};
  EXPECT_EQ(decay_of(short_one).law, Status::kTooFewLayers);
  const Decay decay = decay_of(Curve{-0.2, -2, -3.8, -5.6, -7.4});
  EXPECT_EQ(decay.law, Status::kExponential);
  EXPECT_EQ(decay.first, 0);
}

TEST(DecayOf, SamplesThatDisagreeHaveNoCommonLaw) {
  const Curve mean = {0, -0.2, -0.4, -0.6, -0.8};
  const std::vector<Curve> alike = {{0, -0.21, -0.42, -0.63, -0.84}, {0, -0.19, -0.38, -0.57, -0.76}};
  EXPECT_EQ(decay_of(mean, alike).law, Status::kExponential);
  EXPECT_NEAR(decay_of(mean, alike).slope_std, 0.0141, 1e-4);
  const std::vector<Curve> apart = {{0, -0.4, -0.8, -1.2, -1.6}, {0, 0, 0, 0, 0}};
  EXPECT_EQ(decay_of(mean, apart).law, Status::kIrregular);
}

TEST(DecayOf, FewLayersAndNoneAtAll) {
  EXPECT_EQ(decay_of(Curve{-0.2, -2, -7}).law, Status::kTooFewLayers);
  EXPECT_EQ(decay_of(Curve{-0.2}).law, Status::kTooFewLayers);
  const Curve deep = {-0.2, -2, -8.6}, level = {-0.2, -0.21};
  EXPECT_EQ(decay_words(decay_of(deep), deep),
            "collapse: 0.631 to 10^-8.6 in 2 layers; too few layers to name a law (five states are needed)");
  EXPECT_EQ(decay_words(decay_of(level), level),
            "0.631 to 0.617 in 1 layer; too few layers to name a law (five states are needed)");
  const Curve equal = {-INFINITY, -INFINITY};
  EXPECT_EQ(decay_words(decay_of(equal), equal), "none: all tokens are identical");
}

TEST(DecayOf, EndsWhereTheLogarithmDoes) {
  const Decay decay = decay_of(Curve{-1, -3, -9, -27, -81, -INFINITY, -INFINITY});
  EXPECT_EQ(decay.law, Status::kDoublyExponential);
  EXPECT_EQ(decay.last, 4);
}

// Neighbouring seeds of 200 networks of all kinds.
TEST(DecayOf, HangsOnNoHair) {
  const std::array norms = {"none", "pre", "post"};
  const std::array masks = {"", "", ",mask=causal", ",mask=window,window=3,global=1", ",relative=xlnet"};
  const std::array mlps = {"", ",mlp=32", ",mlp=32,act=relu"};
  const std::array variants = {"san", "san+mlp", "san+skip", "full", "no-norm"};
  CollapseOptions options;
  options.input.n_samples = 6;
  options.input.n_tokens = 10;
  options.floats = false;
  options.each_sample = false;
  options.error_draws = 1;
  int changes = 0;
  std::map<Status, int> seen;
  for (std::size_t i = 0; i < 200; ++i) {
    const std::vector<std::string> spec = {
        fmt::format("san:layers={},heads={},dim=16,vocab=50,std={},norm={}{}{}", 4 + i % 9, 1 + i % 2,
                    std::array{0.05, 0.1, 0.2, 0.35}[i / 5 % 4], norms[i % 3], masks[i / 3 % 5], mlps[i / 7 % 3])};
    options.variants = {variant_named(variants[i % 5])};
    std::array<Status, 2> laws = {};
    for (std::uint64_t seed : {0U, 1U}) {
      options.seed = 2 * i + seed;
      for (const Row& row : collapse(spec, options).rows) {
        if (row.metric == "decay" && row.kind == "relative_residual") laws[seed] = row.status;
      }
      ++seen[laws[seed]];
    }
    changes += laws[0] != laws[1] ? 1 : 0;
    // What changes is whether the fall is large or steady enough to be called by a name: between a law and its absence
    // stands kIrregular.
    const auto is_law = [](Status law) { return law == Status::kDoublyExponential || law == Status::kExponential; };
    EXPECT_FALSE(is_law(laws[0]) && laws[1] == Status::kNoCollapse) << spec[0];
    EXPECT_FALSE(is_law(laws[1]) && laws[0] == Status::kNoCollapse) << spec[0];
  }
  RecordProperty("changes", changes);
  EXPECT_LE(changes, 30);
  for (const Status law : {Status::kDoublyExponential, Status::kExponential, Status::kNoCollapse, Status::kIrregular}) {
    EXPECT_GT(seen[law], 20) << static_cast<int>(law);
  }
}

}  // namespace
}  // namespace rankfall
