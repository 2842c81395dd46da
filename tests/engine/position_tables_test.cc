#include "engine/position_tables.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(Sinusoid, IsTheTableToFloatRounding) {
  const Index n = 64;
  const Index d = 32;
  const Matrix<float> table = xlnet_sinusoid(n, d);
  ASSERT_EQ(table.rows(), 2 * n - 1);
  for (Index t = 0; t < table.rows(); ++t) {
    const double m = static_cast<double>(n - 1 - t);
    for (Index i = 0; i < d / 2; ++i) {
      const double angle = m * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(d));
      // The frequency and the angle are each rounded to float: 2 half-ulps of the angle, one ulp of the value.
      const double tolerance = 1.2e-7 * (2 * std::abs(angle) + 1);
      EXPECT_NEAR(table(t, i), std::sin(angle), tolerance);
      EXPECT_NEAR(table(t, d / 2 + i), std::cos(angle), tolerance);
    }
  }
  EXPECT_EQ(table(n - 1, 3), 0.0F);
  EXPECT_EQ(table(n - 1, d / 2 + 3), 1.0F);
}

// The 32 buckets of the released models, written out from the definition.
TEST(T5Bucket, IsExactNearAndLogarithmicFar) {
  for (Index distance = 0; distance < 8; ++distance) {
    EXPECT_EQ(t5_bucket(-distance, 32, 128), distance);
    if (distance > 0) {
      EXPECT_EQ(t5_bucket(distance, 32, 128), 16 + distance);
    }
  }
  EXPECT_EQ(t5_bucket(-8, 32, 128), 8);
  EXPECT_EQ(t5_bucket(-16, 32, 128), 10);  // 8 + 8 log(2) / log(16)
  EXPECT_EQ(t5_bucket(-32, 32, 128), 12);
  EXPECT_EQ(t5_bucket(-64, 32, 128), 14);
  for (const Index far : {128, 1000, 1'000'000}) {
    EXPECT_EQ(t5_bucket(-far, 32, 128), 15);
    EXPECT_EQ(t5_bucket(far, 32, 128), 31);
  }
  for (Index distance = -300; distance < 0; ++distance) {
    EXPECT_GE(t5_bucket(distance, 32, 128), t5_bucket(distance + 1, 32, 128));
  }
}

TEST(Rotary, TurnsByThePositionTimesTheFrequency) {
  const RotaryTable<double> table = rotary_table(5, 4, {.base = 100.0});
  EXPECT_EQ(table.cos(0, 0), 1);
  EXPECT_EQ(table.sin(0, 1), 0);
  EXPECT_NEAR(table.sin(3, 0), std::sin(3.0), 1e-15);
  EXPECT_NEAR(table.cos(4, 1), std::cos(0.4), 1e-15);
}

TEST(Rotary, StretchedModelsSlowDownWhatTurnsSlowly) {
  const RotaryTable<double> linear = rotary_table(5, 4, {.base = 100.0, .scaling = LinearScaling{8}});
  EXPECT_NEAR(linear.sin(4, 0), std::sin(0.5), 1e-15);
  EXPECT_NEAR(linear.sin(4, 1), std::sin(0.05), 1e-15);

  // Turns in 60 tokens: 9.5, 3.02, 0.95 and 0.3.
  const RotaryTable<double> stretched = rotary_table(5, 8, {.base = 100.0, .scaling = Llama3Scaling{8, 60, 1, 4}});
  EXPECT_NEAR(stretched.sin(2, 0), std::sin(2.0), 1e-15);
  const double w = std::pow(100.0, -0.25);
  const double share = (60 * w / (2 * 3.14159265358979323846) - 1) / 3;
  EXPECT_NEAR(stretched.sin(2, 1), std::sin(2 * (share * w + (1 - share) * w / 8)), 1e-15);
  EXPECT_NEAR(stretched.sin(4, 2), std::sin(4 * 0.1 / 8), 1e-15);
  EXPECT_NEAR(stretched.sin(4, 3), std::sin(4 * std::pow(100.0, -0.75) / 8), 1e-15);
}

TEST(Rotary, TurnsPartOfAHeadWithAMagnitude) {
  const RotaryTable<double> table = rotary_table(5, 8, {.base = 100.0, .channels = 4, .magnitude = 1.5});
  ASSERT_EQ(table.cos.cols(), 2);
  EXPECT_NEAR(table.sin(3, 1), 1.5 * std::sin(0.3), 1e-15);
  EXPECT_EQ(table.cos(0, 0), 1.5);
}

// base' = base (factor n / original - (factor - 1))^(m / (m - 2)) beyond `original` tokens, and nothing before.
TEST(Rotary, DynamicScalingDependsOnTheLength) {
  const RotaryPositions rotary{.base = 100.0, .scaling = DynamicScaling{4, 10}};
  EXPECT_TRUE(depends_on_length(rotary));
  EXPECT_EQ(rotary_table(10, 8, rotary).sin, rotary_table(10, 8, {.base = 100.0}).sin);
  const double base = 100 * std::pow(4.0 * 15 / 10 - 3, 8.0 / 6);
  EXPECT_NEAR(rotary_table(15, 8, rotary).sin(7, 3), std::sin(7 * std::pow(base, -0.75)), 1e-15);
}

// Pairs that turn more than 32 times in 1,000 tokens are as they were, those that turn less than once 8 times slower.
TEST(Rotary, YarnMixesByThePair) {
  const YarnScaling yarn{8, 1000, 32, 1, true};
  const RotaryTable<double> table = rotary_table(3, 32, {.base = 10000.0, .scaling = yarn});
  const auto frequency = [](Index c) { return std::pow(10000.0, -static_cast<double>(c) / 16); };
  const auto pair = [](double turns) {
    return 16 * std::log(1000 / (turns * 2 * 3.14159265358979323846)) / std::log(10000.0);
  };
  const double low = std::floor(pair(32));  // 2.79
  const double high = std::ceil(pair(1));   // 8.8
  EXPECT_EQ(low, 2);
  EXPECT_EQ(high, 9);
  for (Index c = 0; c < 16; ++c) {
    const double slow = std::clamp((static_cast<double>(c) - low) / (high - low), 0.0, 1.0);
    EXPECT_NEAR(table.sin(2, c), std::sin(2 * frequency(c) * (1 - slow + slow / 8)), 1e-14) << c;
  }
}

TEST(Rotary, LongropeHasAListForLongSamples) {
  const RotaryPositions rotary{.base = 100.0, .scaling = LongScaling{{1, 2}, {3, 4}, 6}};
  EXPECT_NEAR(rotary_table(6, 4, rotary).sin(5, 1), std::sin(5 * 0.1 / 2), 1e-15);
  EXPECT_NEAR(rotary_table(7, 4, rotary).sin(5, 1), std::sin(5 * 0.1 / 4), 1e-15);
}

}  // namespace
}  // namespace rankfall
