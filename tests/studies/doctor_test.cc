#include "studies/doctor/doctor.h"

#include <algorithm>
#include <cfenv>

#include <gtest/gtest.h>

#include "contract.h"
#include <rankfall/process.h>

namespace rankfall {
namespace {

Status status_of(const Result& result, const char* metric) {
  const auto found = std::ranges::find(result.rows, metric, &Row::metric);
  return found == result.rows.end() ? Status::kMissing : found->status;
}

TEST(Doctor, ASoundMachineIsSound) {
  const int before = threads();
  const Result result = doctor();
  expect_contract(result);
  EXPECT_EQ(threads(), before);
  for (const Row& row : result.rows) {
    EXPECT_NE(row.status, Status::kFailed) << row.metric;
    EXPECT_FALSE(row.verdict.empty()) << row.metric;
  }
  for (const char* metric : {"doctor.random_numbers", "doctor.rounding", "doctor.subnormal_numbers",
                             "doctor.threads_agree", "doctor.reproducible"}) {
    EXPECT_EQ(status_of(result, metric), Status::kPassed) << metric;
  }
}

TEST(Doctor, AnotherRoundingIsFound) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const Result result = doctor();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(status_of(result, "doctor.rounding"), Status::kFailed);
  EXPECT_EQ(status_of(result, "doctor.reproducible"), Status::kFailed);
}

}  // namespace
}  // namespace rankfall
