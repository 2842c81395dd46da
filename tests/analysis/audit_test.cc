#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "analysis/audit_claims.h"
#include <rankfall/audit.h>
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

TEST(Audit, EveryVerdictIsTheRecordedOne) {
  AuditOptions options;
  options.seconds = 1;
  const Result result = audit(options);
  EXPECT_EQ(unexpected_verdicts(result), std::vector<std::string>{});
  std::map<std::string, std::set<std::string>> metrics;  // by claim
  std::set<std::string> numbers;
  for (const Row& row : result.rows) {
    metrics[row.claim].insert(row.metric);
    numbers.insert(row.claim.substr(0, 2));
    EXPECT_FALSE(row.verdict.empty()) << row.claim << " " << row.metric;
  }
  EXPECT_EQ(numbers.size(), 17U);
  for (const auto& [claim, found] : metrics) {
    EXPECT_TRUE(found.contains("audit.statement") && found.contains("audit.verdict") &&
                found.contains("audit.evidence") && found.contains("audit.command"))
        << claim;
  }
  EXPECT_NE(to_table(result).find("04b composite_triangle"), std::string::npos);
}

TEST(Audit, AnUnexpectedVerdictIsSaid) {
  AuditOptions options;
  options.claims = {1, 2};
  Result result = audit(options);
  EXPECT_TRUE(unexpected_verdicts(result).empty());
  for (Row& row : result.rows) {
    if (row.metric == "audit.verdict") row.kind = "unexpected";
  }
  EXPECT_EQ(unexpected_verdicts(result).size(), 2U);
  EXPECT_NE(to_table(result).find("not the recorded verdict"), std::string::npos);
}

TEST(Audit, WitnessesAreWrittenAndChecked) {
  const auto folder = std::filesystem::temp_directory_path() / "rankfall_audit_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  AuditOptions options;
  options.claims = {4, 5, 6, 7, 8};
  options.seconds = 0.5;
  options.witnesses = folder;
  audit(options);
  int n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const CheckedWitness w = check_witness_file(entry.path());
    EXPECT_TRUE(w.expected) << entry.path() << " " << w.left << " " << w.right;
    ++n;
  }
  EXPECT_EQ(n, 8);
  std::ofstream(folder / "other.json") << "{}";
  EXPECT_THROW(check_witness_file(folder / "other.json"), Error);
  EXPECT_THROW(check_witness_file(folder / "none.json"), Error);
  std::filesystem::remove_all(folder);
}

TEST(Audit, RefusesWhatCannotBe) {
  AuditOptions options;
  options.seconds = 0;
  EXPECT_THROW(audit(options), Error);
  options.seconds = 1;
  options.claims = {0};
  EXPECT_THROW(audit(options), Error);
  options.claims = {1};
  options.witnesses = "/no/such/folder";
  EXPECT_THROW(audit(options), Error);
}

TEST(Audit, IdentitiesInAHundredDigits) {
  EXPECT_LT(largest_shift_difference(1, 20), 1e-95);
  EXPECT_LT(largest_row_sum_error(1, 20), 1e-95);
}

}  // namespace
}  // namespace rankfall
