#include "report/findings.h"

#include <gtest/gtest.h>

namespace rankfall {
namespace {

constexpr double kAbsent = -1;

// One variant; the last `n_floor` values are at the rounding floor.
LayerBlock curve(const std::vector<double>& values, std::size_t n_floor = 0) {
  LayerBlock block;
  block.variants = {"v"};
  block.cells.resize(1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    block.layers.push_back(static_cast<Index>(i));
    LayerCell& cell = block.cells[0].emplace_back();
    if (values[i] != kAbsent) cell.mean = values[i];
    cell.at_floor = i + n_floor >= values.size();
  }
  return block;
}

TEST(Finding, SaysWhereTheFloorIsReached) {
  const Finding found = finding(curve({0.612, 0.0176, 6.99e-7, 1.9e-7}, 2), 0, "float32 ", true);
  EXPECT_EQ(found.fate, Finding::Fate::kDies);
  EXPECT_EQ(found.sentence, "reaches the float32 rounding floor at layer 2 (0.61 → 0.018 → 7.0e-07)");
  EXPECT_EQ(finding(curve({0.612, 2e-7}, 1), 0, "", false).sentence,
            "reaches the rounding floor at layer 1 (0.61 -> 2.0e-07)");
  EXPECT_EQ(finding(curve({2e-7, 2e-7}, 2), 0, "", true).sentence, "is at the rounding floor from layer 0 on");
}

TEST(Finding, ShortensALongWay) {
  EXPECT_EQ(finding(curve({0.9, 0.8, 0.1, 0.01, 1e-4, 2e-7}, 1), 0, "", true).sentence,
            "reaches the rounding floor at layer 5 (0.90 → 0.80 → … → 2.0e-07)");
  EXPECT_EQ(finding(curve({0.9, 0.8, 0.1, 2e-7}, 1), 0, "", true).sentence,
            "reaches the rounding floor at layer 3 (0.90 → 0.80 → 0.10 → 2.0e-07)");
}

TEST(Finding, SaysWhatIsKept) {
  const Finding found = finding(curve({0.6, 0.5, 0.41}), 0, "", true);
  EXPECT_EQ(found.fate, Finding::Fate::kKeeps);
  EXPECT_EQ(found.sentence, "keeps 0.41 of 0.60 at layer 2");
  EXPECT_EQ(finding(curve({0.6, 0.7}), 0, "", true).sentence, "grows from 0.60 to 0.70 at layer 1");
  EXPECT_EQ(finding(curve({0.598, 0.601}), 0, "", true).sentence, "stays at 0.60 up to layer 1");
}

TEST(Finding, SaysWhereItFell) {
  const Finding found = finding(curve({0.6, 0.05, 0.1, 0.05, 0.002}), 0, "", true);
  EXPECT_EQ(found.fate, Finding::Fate::kFalls);
  EXPECT_EQ(found.sentence, "falls from 0.60 to 0.0020 at layer 4, below a tenth from layer 3 on");
}

TEST(Finding, OfAFloorThatIsLeftAgain) {
  LayerBlock block = curve({0.6, 2e-7, 0.3});
  block.cells[0][1].at_floor = true;
  EXPECT_EQ(finding(block, 0, "", true).sentence, "touches the rounding floor at layer 1 and is 0.30 at layer 2");
}

TEST(Finding, OfLittle) {
  EXPECT_EQ(finding(curve({kAbsent, kAbsent}), 0, "", true).sentence, "has no finite value");
  EXPECT_EQ(finding(curve({kAbsent, 0.5}), 0, "", true).sentence, "is 0.50 at layer 1");
  EXPECT_EQ(finding(curve({0, 0}), 0, "", true).sentence, "stays at 0 up to layer 1");
}

}  // namespace
}  // namespace rankfall
