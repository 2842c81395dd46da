#include "base/parallel.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

class Parallel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_threads(GetParam()); }
  void TearDown() override { set_threads(2); }
};

TEST_P(Parallel, EveryIndexOnce) {
  for (const Index n : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
    parallel_for(n, [&](Index i) { ++seen[static_cast<std::size_t>(i)]; });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST_P(Parallel, MayBeNested) {
  std::atomic<int> count = 0;
  parallel_for(7, [&](Index) { parallel_for(11, [&](Index) { parallel_for(3, [&](Index) { ++count; }); }); });
  EXPECT_EQ(count, 7 * 11 * 3);
}

TEST_P(Parallel, TheFirstErrorWins) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<int> ran = 0;
    try {
      parallel_for(100, [&](Index i) {
        ++ran;
        if (i % 7 == 3) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "no error";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "3");
    }
    EXPECT_EQ(ran, 100);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace rankfall
