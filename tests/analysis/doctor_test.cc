#include <algorithm>
#include <cfenv>

#include <gtest/gtest.h>

#include <rankfall/doctor.h>
#include <rankfall/parallel.h>

namespace rankfall {
namespace {

std::string kind_of(const Result& result, const char* metric) {
  const auto found = std::ranges::find(result.rows, metric, &Row::metric);
  return found == result.rows.end() ? "absent" : found->kind;
}

TEST(Doctor, ASoundMachineIsSound) {
  const int before = threads();
  const Result result = doctor();
  EXPECT_EQ(threads(), before);
  for (const Row& row : result.rows) {
    EXPECT_NE(row.kind, "failed") << row.metric;
    EXPECT_FALSE(row.verdict.empty()) << row.metric;
  }
  for (const char* metric : {"doctor.random_numbers", "doctor.rounding", "doctor.subnormal_numbers",
                             "doctor.threads_agree", "doctor.reproducible"}) {
    EXPECT_EQ(kind_of(result, metric), "check") << metric;
  }
}

TEST(Doctor, AnotherRoundingIsFound) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const Result result = doctor();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(kind_of(result, "doctor.rounding"), "failed");
  EXPECT_EQ(kind_of(result, "doctor.reproducible"), "failed");
}

}  // namespace
}  // namespace rankfall
