#include "train/task_data.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

double share_of_ones(const TaskSet& set) {
  double ones = 0;
  double n = 0;
  for (const auto& labels : set.labels) {
    for (const auto label : labels) ones += label;
    n += static_cast<double>(labels.size());
  }
  return ones / n;
}

TEST(TaskData, SortingIsSortedAndGuessingByPositionHasItsShare) {
  TrainSettings s = default_settings("sort", false);
  s.n_train = 20'000;
  const TaskData data = make_task(s);
  std::vector<std::vector<int>> counts(8, std::vector<int>(10, 0));
  for (std::size_t i = 0; i < data.train.samples.size(); ++i) {
    auto ids = std::get<TokenIds>(data.train.samples[i].content);
    std::ranges::sort(ids);
    ASSERT_EQ(ids, data.train.labels[i]);
    for (std::size_t t = 0; t < 8; ++t) ++counts[t][static_cast<std::size_t>(ids[t])];
  }
  double share = 0;
  for (const auto& position : counts) share += *std::ranges::max_element(position) / 20'000.0 / 8;
  EXPECT_NEAR(share, 0.339, 0.005);  // exactly: of the order statistics of 8 digits
  // Training and evaluation are drawn apart, and seeds differ.
  EXPECT_NE(data.train.labels[0], data.eval.labels[0]);
  TrainSettings other = s;
  other.seed = 1;
  EXPECT_NE(make_task(other).train.labels, data.train.labels);
  EXPECT_EQ(make_task(s).train.labels, data.train.labels);
}

// A point is a corner unless it lies in a triangle of three others, or between two.
TEST(TaskData, HullCornersAreThose) {
  TrainSettings s = default_settings("hull", true);
  s.n_train = 300;
  s.n_tokens = 6;
  const TaskData data = make_task(s);
  const auto turn = [](const auto& a, const auto& b, const auto& c) {
    return (b(0) - a(0)) * (c(1) - a(1)) - (b(1) - a(1)) * (c(0) - a(0));
  };
  for (std::size_t i = 0; i < data.train.samples.size(); ++i) {
    const auto& points = std::get<Features>(data.train.samples[i].content).values;
    for (Index p = 0; p < 6; ++p) {
      bool inside = false;
      for (Index a = 0; a < 6; ++a) {
        for (Index b = a + 1; b < 6; ++b) {
          for (Index c = b + 1; c < 6; ++c) {
            if (p == a || p == b || p == c) continue;
            const double u = turn(points.row(a), points.row(b), points.row(p));
            const double v = turn(points.row(b), points.row(c), points.row(p));
            const double w = turn(points.row(c), points.row(a), points.row(p));
            inside |= (u >= 0 && v >= 0 && w >= 0) || (u <= 0 && v <= 0 && w <= 0);
          }
        }
      }
      EXPECT_EQ(data.train.labels[i][static_cast<std::size_t>(p)], inside ? 0 : 1) << i << " " << p;
    }
  }
}

TEST(TaskData, HullShareOfCorners) {
  TrainSettings s = default_settings("hull", false);
  const TaskData data = make_task(s);
  EXPECT_NEAR(share_of_ones(data.train), 0.596, 0.01);
  Matrix<double> line(4, 2);
  line << 0, 0, 1, 1, 2, 2, 3, 3;
  EXPECT_EQ(hull_corners(line), (std::vector<bool>{true, false, false, true}));
}

TEST(TaskData, MemorizeHasFairLabelsAndIsAskedWhatItLearned) {
  const TaskData data = make_task(default_settings("memorize", true));
  EXPECT_EQ(data.train.labels, data.eval.labels);
  EXPECT_NEAR(share_of_ones(data.train), 0.5, 0.05);
}

TEST(TaskData, CircleGoesAStepFurther) {
  const TaskData data = make_task(default_settings("circle", false));
  ASSERT_EQ(data.train.samples.size(), 499U);
  for (std::size_t i = 0; i + 1 < 499; ++i) {
    EXPECT_LT((data.train.targets[i] - std::get<Features>(data.train.samples[i + 1].content).values).norm(), 1e-12);
  }
  EXPECT_NEAR(data.train.targets[7].row(0).norm(), 0.3, 1e-12);
  // The published outer skip: the item one batch before is added to the input.
  TrainSettings published = published_settings("circle");
  published.outer_skip = true;
  const TaskData odd = make_task(published);
  const auto input = [](const TaskData& d, std::size_t i) {
    return std::get<Features>(d.train.samples[i].content).values;
  };
  EXPECT_EQ(input(odd, 29), input(data, 29));
  EXPECT_LT((input(odd, 95) - input(data, 95) - input(data, 65)).norm(), 1e-15);
}

}  // namespace
}  // namespace rankfall
