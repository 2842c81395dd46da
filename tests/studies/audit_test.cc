#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "contract.h"
#include "studies/audit/audit_claims.h"
#include <rankfall/audit.h>
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

TEST(Audit, EveryVerdictIsTheRecordedOne) {
  AuditOptions options;
  options.n_trials = 12'000;
  const Result result = audit(options);
  expect_contract(result);
  EXPECT_EQ(unexpected_verdicts(result), std::vector<std::string>{});
  std::map<std::string, std::set<std::string>> metrics;  // by claim
  for (const Row& row : result.rows) {
    metrics[row.claim].insert(row.metric);
    EXPECT_TRUE(!row.verdict.empty() || row.mean) << row.claim << " " << row.metric;
  }
  EXPECT_EQ(metrics.size(), audited_claims().size());
  for (const auto& [claim, found] : metrics) {
    EXPECT_TRUE(found.contains("audit.statement") && found.contains("audit.source") &&
                found.contains("audit.refuted_by") && found.contains("audit.verdict") &&
                found.contains("audit.evidence") && found.contains("audit.command"))
        << claim;
  }
  EXPECT_NE(to_table(result).find("04b composite_triangle"), std::string::npos);
}

// The list says of every claim what the audit says of it, and takes no time.
TEST(Audit, ClaimsAreListedWithoutBeingTried) {
  const std::vector<AuditedClaim> claims = audited_claims();
  std::set<std::string> ids;
  for (const AuditedClaim& claim : claims) {
    EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
    EXPECT_FALSE(claim.statement.empty() || claim.source.empty() || claim.refuted_by.empty() || claim.verdict.empty())
        << claim.id;
  }
  ASSERT_EQ(audited_claims({4}).size(), 2U);
  EXPECT_EQ(audited_claims({4})[1].id, "04b composite_triangle");
  EXPECT_EQ(audited_claims({4})[1].expected, Status::kViolated);
  EXPECT_THROW(audited_claims({0}), Error);
  EXPECT_THROW(audited_claims({std::numeric_limits<Index>::max()}), Error);
}

const Row& verdict_on(const Result& result, std::string_view claim) {
  for (const Row& row : result.rows) {
    if (row.metric == "audit.verdict" && row.claim.starts_with(claim)) return row;
  }
  throw std::runtime_error("no verdict on " + std::string(claim));
}

// Trials are counted, so that a second run has the same rows.
TEST(Audit, RunsRepeatExactly) {
  AuditOptions options;
  options.claims = {4, 5, 6, 7, 8};
  options.n_trials = 20'000;
  const Result first = audit(options);
  EXPECT_EQ(to_csv(first), to_csv(audit(options)));
  EXPECT_EQ(verdict_on(first, "07").n, 20'000);
  for (const Row& row : first.rows) EXPECT_NE(row.metric, "audit.stopped");
}

// A limit of time may remain, and says where it struck; every size is searched once whatever the time.
TEST(Audit, ATimeLimitThatStruckIsSaid) {
  AuditOptions options;
  options.claims = {7};
  options.n_trials = 1'000'000'000;
  options.seconds = 0.01;
  const Result result = audit(options);
  const auto stopped = std::ranges::find(result.rows, "audit.stopped", &Row::metric);
  ASSERT_NE(stopped, result.rows.end());
  EXPECT_EQ(stopped->status, Status::kWarning);
  EXPECT_EQ(stopped->n, verdict_on(result, "07").n);
  EXPECT_GE(*stopped->n, 5 * 4'000);
  EXPECT_EQ(stopped->k, 1'000'000'000);
  EXPECT_NE(to_table(result).find("time limit"), std::string::npos);
}

TEST(Audit, ClaimsThatCannotComeOutOtherwiseSaySo) {
  AuditOptions options;
  options.claims = {1, 2, 3, 10, 16};
  const Result result = audit(options);
  for (const char* claim : {"01", "02", "10"}) EXPECT_EQ(verdict_on(result, claim).basis, Basis::kDefinition) << claim;
  for (const char* claim : {"03", "16"}) EXPECT_EQ(verdict_on(result, claim).basis, Basis::kNone) << claim;
}

// Claim 14 is about the rank of P: it must not matter how the seed falls.
TEST(Audit, FullRankCollapsesAndLowRankNeedNot) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    const AuditFinding finding = rank_of_attention({}, seed);
    EXPECT_EQ(finding.verdict, Status::kViolated) << finding.evidence;
    EXPECT_NE(finding.evidence.find("P of rank 2"), std::string::npos) << finding.evidence;
  }
}

// Claim 21: the engine is the formula, whatever the seed, and the transition is where the paper has it.
TEST(Audit, ScaledAttentionKeepsWhatTheFormulaSays) {
  const AuditFinding finding = attention_scaling_claim().run({}, 0);
  EXPECT_EQ(finding.verdict, Status::kHolds) << finding.evidence;
  const auto kept = [&](const char* kind, Index n, const char* gamma) -> double {
    for (const Row& row : finding.rows) {
      if (row.kind == kind && row.tokens == n && row.variant == gamma) return row.mean.value_or(NAN);
    }
    return NAN;
  };
  EXPECT_NEAR(kept("engine", 1024, "gamma=1"), 0.1994, 5e-5);
  EXPECT_NEAR(kept("engine", 1024, "gamma=1.25"), 0.4998, 5e-5);
  EXPECT_NEAR(kept("engine", 1024, "gamma=1.5"), 0.8000, 5e-5);
  EXPECT_NEAR(kept("engine", 16, "gamma=2"), kept("formula", 16, "gamma=2"), 1e-12);
}

// What a claim was decided by is in its rows: mean, deviation and number of seeds for each kind of network.
TEST(Audit, MeasuredClaimsHaveTheirNumbersInRows) {
  AuditOptions options;
  options.claims = {24, 28};
  const Result result = audit(options);
  Index n_differences = 0;
  Index n_shares = 0;
  for (const Row& row : result.rows) {
    if (row.metric != "audit.fall" && row.metric != "audit.short_share") continue;
    EXPECT_TRUE(row.mean && row.std && row.n.value_or(0) > 1 && !row.variant.empty()) << row.claim;
    if (row.metric == "audit.short_share") ++n_shares;
    if (row.kind == "difference") ++n_differences;
  }
  EXPECT_EQ(n_differences, 8);
  EXPECT_EQ(n_shares, 16);
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
  EXPECT_NE(to_table(result).find("differs from the recorded verdict"), std::string::npos);
}

TEST(Audit, WitnessesAreWrittenAndChecked) {
  const auto folder = std::filesystem::temp_directory_path() / "rankfall_audit_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  AuditOptions options;
  options.claims = {4, 5, 6, 7, 8, 18, 19, 20};
  options.n_trials = 12'000;
  options.witnesses = folder;
  audit(options);
  int n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const CheckedWitness w = check_witness_file(entry.path());
    EXPECT_TRUE(w.expected) << entry.path() << " " << w.left << " " << w.right;
    ++n;
  }
  EXPECT_EQ(n, 13);
  std::ofstream(folder / "other.json") << "{}";
  EXPECT_THROW(check_witness_file(folder / "other.json"), Error);
  EXPECT_THROW(check_witness_file(folder / "none.json"), Error);
  std::filesystem::remove_all(folder);
}

TEST(Audit, RefusesWhatCannotBe) {
  AuditOptions options;
  options.n_trials = 0;
  EXPECT_THROW(audit(options), Error);
  options.n_trials = 1;
  options.seconds = -1;
  EXPECT_THROW(audit(options), Error);
  options.seconds = 0;
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
