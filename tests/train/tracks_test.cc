#include "train/tracks.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(Tracks, AFallHasABeginningAndAnEnd) {
  const Fall fall = fall_of({2, 2.1, 1.9, 0.9, 0.3, 0.1, 0.01, 0.001});
  EXPECT_EQ(fall.begins, 3);
  EXPECT_EQ(fall.ends, 6);
  EXPECT_NEAR(fall.rate.value(), std::pow(0.01 / 1.9, 1.0 / 4), 1e-12);
}

TEST(Tracks, WhatComesUpAgainHasNotFallen) {
  EXPECT_FALSE(fall_of({1, 0.5, 0.001, 0.95, 0.92}).begins);
  const Fall later = fall_of({1, 0.5, 1, 0.8, 0.5, 0.3});
  EXPECT_EQ(later.begins, 3);
  EXPECT_FALSE(later.ends);
  EXPECT_FALSE(later.rate);
}

TEST(Tracks, ToZeroAtOnce) {
  const Fall fall = fall_of({1, 1, 0, 0});
  EXPECT_EQ(fall.begins, 2);
  EXPECT_EQ(fall.ends, 2);
  EXPECT_GT(fall.rate.value(), 0);
}

TEST(Tracks, TurnsAreSigned) {
  std::vector<Matrix<double>> states;
  for (int t = 0; t <= 30; ++t) {
    const double angle = -2 * std::numbers::pi * t / 20;
    Matrix<double> x(2, 2);
    x << std::cos(angle), std::sin(angle), 1, 0;
    states.push_back(x);
  }
  EXPECT_NEAR(turns_of(states), -1.5, 1e-12);
}

}  // namespace
}  // namespace rankfall
