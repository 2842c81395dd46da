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

TEST(Statistics, MergedAreThoseOfAllValues) {
  const std::vector<double> values = {0.3, -1.25, 8, 2.5, 2.5, 1e-3, 77};
  for (std::size_t cut = 0; cut <= values.size(); ++cut) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(cut);
    Statistics left = of({values.begin(), middle});
    left.merge(of({middle, values.end()}));
    EXPECT_EQ(left.n(), 7);
    EXPECT_NEAR(*left.mean(), *of(values).mean(), 1e-14 * 77) << cut;
    EXPECT_NEAR(*left.std(), *of(values).std(), 1e-14 * 77) << cut;
  }
}

TEST(Statistics, OneValueThatIsNotFiniteMakesThemAbsentForGood) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    Statistics statistics = of({1, bad, 2});
    EXPECT_FALSE(statistics.mean());
    EXPECT_FALSE(statistics.std());
    EXPECT_EQ(statistics.n(), 3);
    Statistics other = of({1, 2});
    other.merge(statistics);
    EXPECT_FALSE(other.mean());
    statistics.merge(of({1, 2}));
    EXPECT_FALSE(statistics.mean());
  }
}

}  // namespace
}  // namespace rankfall
