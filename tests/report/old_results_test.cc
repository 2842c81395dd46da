#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>

#include "result/legacy.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

// Files that version 0.1 wrote. Their statuses come from its words; what is drawn of them is what is drawn of new ones.

namespace rankfall {
namespace {

const std::filesystem::path kOld = std::filesystem::path(RANKFALL_TEST_DATA) / "results-0.1";

Result old_result(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(kOld / (name + ".json")).rdbuf();
  return from_json(text.str(), name);
}

std::map<Status, int> statuses(const Result& result, std::string_view prefix) {
  std::map<Status, int> n;
  for (const Row& row : result.rows) n[row.status] += row.metric.starts_with(prefix) ? 1 : 0;
  std::erase_if(n, [](const auto& of) { return of.second == 0; });
  return n;
}

using testing::ElementsAre;
using testing::Pair;

TEST(OldResults, AreDrawn) {
  for (const char* name : {"audit", "bounds", "bounds_full", "collapse", "lowrank", "measure", "paths", "tokens"}) {
    const Result result = old_result(name);
    EXPECT_FALSE(result.rows.empty()) << name;
    EXPECT_FALSE(to_table(result).empty()) << name;
    // Written again they are results of today.
    const std::string today = to_json(result);
    EXPECT_EQ(to_json(from_json(today, name)), today) << name;
  }
}

TEST(OldResults, HaveTheStatusOfTheirWords) {
  EXPECT_THAT(statuses(old_result("measure"), "relative_residual"),
              ElementsAre(Pair(Status::kNone, 7), Pair(Status::kRoundingFloor, 3)));
  EXPECT_THAT(statuses(old_result("bounds_full"), "log10_tightness."), ElementsAre(Pair(Status::kHolds, 20)));
  EXPECT_THAT(statuses(old_result("bounds"), "log10_tightness."),
              ElementsAre(Pair(Status::kHolds, 2), Pair(Status::kNotApplicable, 10)));
  EXPECT_THAT(statuses(old_result("audit"), "audit.verdict"),
              ElementsAre(Pair(Status::kHolds, 1), Pair(Status::kViolated, 1)));
  EXPECT_THAT(statuses(old_result("lowrank"), "jl.k_claimed"), ElementsAre(Pair(Status::kNoSaving, 3)));
  const Result collapse = old_result("collapse");
  EXPECT_THAT(statuses(collapse, "decay"),
              ElementsAre(Pair(Status::kDoublyExponential, 2), Pair(Status::kIrregular, 2)));
  int n_seen = 0;
  for (const Row& row : collapse.rows) {
    if (row.metric == "log10_residual.composite" && row.kind == "exact" && row.variant == "san" && row.layer == 6) {
      EXPECT_EQ(row.status, Status::kBelowFloat64);
      ++n_seen;
    }
  }
  EXPECT_EQ(n_seen, 1);
  n_seen = 0;
  for (const Row& row : old_result("bounds").rows) {
    if (row.metric != "log10_tightness.T2.3") continue;
    EXPECT_EQ(row.reason, Reason::kDifferentKeys);
    EXPECT_EQ(row.basis, Basis::kWeights);
    ++n_seen;
  }
  EXPECT_EQ(n_seen, 2);
}

TEST(OldResults, PiecesOfATextAreNoPaths) {
  for (const Row& row : old_result("tokens").rows) {
    EXPECT_FALSE(row.text.empty());
    EXPECT_FALSE(row.path);
  }
}

TEST(OldResults, ADoctorsChecksAreStatuses) {
  Row row;
  row.metric = "doctor.rounding";
  row.kind = "failed";
  upgrade_row("doctor", "not to nearest", row);
  EXPECT_EQ(row.status, Status::kFailed);
}

TEST(OldResults, OfLaterVersionsAreRefused) {
  const auto with_schema = [](const std::string& schema) {
    return from_json(R"({"rankfall": "9", "schema": )" + schema + R"(, "command": "x", "manifest": {}, "rows": []})",
                     "x");
  };
  EXPECT_NO_THROW(with_schema("1"));
  EXPECT_NO_THROW(with_schema("2"));
  for (const char* schema : {"3", "0", "-1", "\"2\"", "2.5", "null", "1e99", "99999999999999999999"}) {
    EXPECT_THROW(with_schema(schema), Error) << schema;
  }
}

}  // namespace
}  // namespace rankfall
