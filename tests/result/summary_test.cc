#include "result/summary.h"

#include <gtest/gtest.h>

namespace rankfall {
namespace {

Row row(const std::string& model, const std::string& metric, std::optional<std::uint64_t> seed) {
  Row row;
  row.model = model;
  row.metric = metric;
  row.seed = seed;
  return row;
}

TEST(SummaryRows, LeaveOutSeedsOnlyWhereAModelHasASummary) {
  Result result;
  result.rows = {row("a", "x", 0), row("a", "x", 1), row("a", "x", {}), row("b", "x", 0), row("a", "y", 0)};
  const auto rows = summary_rows(result);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], &result.rows[2]);
  EXPECT_EQ(rows[1], &result.rows[3]);
  EXPECT_EQ(rows[2], &result.rows[4]);
}

TEST(SummaryRows, LeaveOutSamplesAndRoundedOnes) {
  Result result;
  result.rows = {row("a", "x", {}), row("a", "x", {}), row("a", "x", {}), row("a", "y", {}), row("b", "x", {})};
  result.rows[0].kind = result.rows[1].kind = "exact";
  result.rows[1].sample = 0;
  result.rows[2].kind = "f32";
  result.rows[3].sample = 4;
  result.rows[4].kind = "f64";
  const auto rows = summary_rows(result);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], &result.rows[0]);
  EXPECT_EQ(rows[1], &result.rows[3]);
  EXPECT_EQ(rows[2], &result.rows[4]);
}

}  // namespace
}  // namespace rankfall
