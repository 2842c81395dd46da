#include "result/statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

Statistics of(const std::vector<double>& values) {
  Statistics statistics;
  for (const double value : values) statistics.add(value);
  return statistics;
}

TEST(Statistics, OfNothingAreAbsent) {
  EXPECT_EQ(Statistics().n(), 0);
  EXPECT_FALSE(Statistics().mean());
  EXPECT_FALSE(Statistics().std());
}

TEST(Statistics, OfOneValueHaveNoDeviation) {
  EXPECT_EQ(of({3.5}).mean(), 3.5);
  EXPECT_FALSE(of({3.5}).std());
}

TEST(Statistics, MeanAndUnbiasedDeviation) {
  const Statistics statistics = of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(statistics.n(), 8);
  EXPECT_DOUBLE_EQ(*statistics.mean(), 5);
  EXPECT_DOUBLE_EQ(*statistics.std(), std::sqrt(32.0 / 7));
}

// The sum of squares minus the squared sum would lose every digit here.
TEST(Statistics, KeepTheDeviationOfLargeNumbers) {
  EXPECT_DOUBLE_EQ(*of({1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}).std(), std::sqrt(30.0));
}

TEST(Statistics, OneValueThatIsNotFiniteMakesThemAbsentForGood) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    Statistics statistics = of({1, bad, 2});
    EXPECT_FALSE(statistics.mean());
    EXPECT_FALSE(statistics.std());
    EXPECT_EQ(statistics.n(), 3);
    statistics.add(1);
    EXPECT_FALSE(statistics.mean());
  }
}

}  // namespace
}  // namespace rankfall
