#include "analysis/decay.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

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
  EXPECT_EQ(decay.kind, Decay::Kind::kDoublyExponential);
  EXPECT_EQ(decay.first, 2);
  EXPECT_EQ(decay.last, 5);
  EXPECT_NEAR(decay.low, 3, 1e-9);
  EXPECT_NEAR(decay.high, 17, 1e-9);
  EXPECT_EQ(
      decay_words(decay, Curve{-0.2, -0.3, -2, -7.1, -22.4, -68.3}),
      "doubly exponential: local exponent 3.00 to 17.00 over layers 2 to 5; 0.631 at layer 0, 10^-68.3 at layer 5");
}

TEST(DecayOf, TwoCubicStepsAreNotEnough) {
  EXPECT_NE(decay_of(Curve{-1, -2, -3, -6, -15}).kind, Decay::Kind::kDoublyExponential);
  EXPECT_EQ(decay_of(Curve{-1, -2, -5, -14, -41}).kind, Decay::Kind::kDoublyExponential);
}

TEST(DecayOf, WhatGrowsDoesNotCollapse) {
  const Decay decay = decay_of(Curve{0, 1, 4, 13, 40});
  EXPECT_EQ(decay.kind, Decay::Kind::kNone);
}

TEST(DecayOf, GeometricDecayHasItsRate) {
  Curve curve;
  for (int l = 0; l <= 12; ++l) curve.push_back(-1.36 * l + (l % 2 == 0 ? 0.01 : -0.01));
  const Decay decay = decay_of(curve);
  EXPECT_EQ(decay.kind, Decay::Kind::kExponential);
  EXPECT_NEAR(decay.slope, -1.36, 0.005);
  EXPECT_GT(decay.r2, 0.999);
  EXPECT_EQ(decay.first, 6);
  EXPECT_EQ(decay.last, 12);
}

TEST(DecayOf, OtherCurvesAreNone) {
  EXPECT_EQ(decay_of(Curve{-0.2, -0.2, -0.2, -0.2, -0.2, -0.2}).kind, Decay::Kind::kNone);
  EXPECT_EQ(decay_of(Curve{-0.2, -0.3, -0.1, -0.4, -0.1, -0.3, -0.2}).kind, Decay::Kind::kNone);
  EXPECT_EQ(decay_of(Curve{-5, -4, -3, -2, -1, 0}).kind, Decay::Kind::kNone);
}

TEST(DecayOf, FewLayersAndNoneAtAll) {
  EXPECT_EQ(decay_of(Curve{-0.2, -2, -7}).kind, Decay::Kind::kTooShort);
  EXPECT_EQ(decay_of(Curve{-0.2}).kind, Decay::Kind::kTooShort);
  const Curve equal = {-INFINITY, -INFINITY};
  EXPECT_EQ(decay_words(decay_of(equal), equal), "none: all tokens are equal");
}

TEST(DecayOf, EndsWhereTheLogarithmDoes) {
  const Decay decay = decay_of(Curve{-1, -3, -9, -27, -81, -INFINITY, -INFINITY});
  EXPECT_EQ(decay.kind, Decay::Kind::kDoublyExponential);
  EXPECT_EQ(decay.last, 4);
}

TEST(PowerOfTen, ReadsWell) {
  EXPECT_EQ(power_of_ten(-0.24), "0.575");
  EXPECT_EQ(power_of_ten(-20.31), "10^-20.3");
  EXPECT_EQ(power_of_ten(-403012.9), "10^-403013");
  EXPECT_EQ(power_of_ten(-4.5e12), "10^(-4.5e+12)");
}

}  // namespace
}  // namespace rankfall
