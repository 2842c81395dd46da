#include "report/layer_block.h"

#include <limits>

#include <gmock/gmock.h>

namespace rankfall {
namespace {

using testing::ElementsAre;

Row row(const std::string& model, const std::string& variant, Index layer, const std::string& metric, double mean) {
  Row row;
  row.model = model;
  row.variant = variant;
  row.layer = layer;
  row.metric = metric;
  row.mean = mean;
  return row;
}

std::vector<LayerBlock> blocks(const std::vector<Row>& rows) {
  std::vector<const Row*> pointers;
  for (const Row& r : rows) pointers.push_back(&r);
  return layer_blocks(pointers);
}

TEST(LayerBlocks, AreOnePerModelAndMetric) {
  const auto out = blocks({row("b", "full", 0, "x", 1), row("a", "full", 0, "x", 2), row("b", "full", 0, "y", 3),
                           row("b", "san", 5, "x", 4)});
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].model + out[0].metric, "bx");
  EXPECT_EQ(out[1].model + out[1].metric, "by");
  EXPECT_EQ(out[2].model + out[2].metric, "ax");
  EXPECT_THAT(out[0].variants, ElementsAre("full", "san"));
  EXPECT_THAT(out[0].layers, ElementsAre(0, 5));
  EXPECT_EQ(out[0].cells[1][1].mean, 4.0);
  EXPECT_FALSE(out[0].cells[1][0].mean);
}

TEST(LayerBlocks, HeadsBecomeMeanAndRange) {
  std::vector<Row> rows;
  for (Index head = 0; head < 3; ++head) {
    rows.push_back(row("m", "full", 1, "attention.entropy", static_cast<double>(head) + 1));
    rows.back().head = head;
  }
  rows.push_back(row("m", "full", 1, "attention.entropy", std::numeric_limits<double>::quiet_NaN()));
  rows.back().head = 3;
  const auto out = blocks(rows);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_TRUE(out[0].by_head);
  EXPECT_EQ(out[0].cells[0][0].mean, 2.0);
  EXPECT_EQ(out[0].cells[0][0].low, 1.0);
  EXPECT_EQ(out[0].cells[0][0].high, 3.0);
}

TEST(LayerBlocks, AreAtTheFloorWhenAllRowsAre) {
  std::vector<Row> rows = {row("m", "v", 0, "x", 1), row("m", "v", 0, "x", 1), row("m", "v", 1, "x", 1)};
  rows[0].seed = 0;
  rows[1].seed = 1;
  rows[1].status = rows[2].status = Status::kRoundingFloor;
  const auto out = blocks(rows);
  EXPECT_TRUE(out[0].by_seed);
  EXPECT_FALSE(out[0].cells[0][0].at_floor);
  EXPECT_TRUE(out[0].cells[0][1].at_floor);
}

TEST(LayerBlocks, IgnoreRowsThatNeedMoreThanALayer) {
  std::vector<Row> rows = {row("m", "v", 0, "x", 1), row("m", "v", 0, "x", 1), row("m", "v", 0, "x", 1)};
  rows[0].length = 3;
  rows[1].origin = Origin{};
  rows[2].layer.reset();
  EXPECT_TRUE(blocks(rows).empty());
}

TEST(LayerBlocks, KnowNOnlyIfItIsTheSame) {
  std::vector<Row> rows = {row("m", "v", 0, "x", 1), row("m", "v", 1, "x", 1)};
  rows[0].n = rows[1].n = 32;
  EXPECT_EQ(blocks(rows)[0].n, 32);
  rows[1].n = 31;
  EXPECT_FALSE(blocks(rows)[0].n);
}

}  // namespace
}  // namespace rankfall
