#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/index.h>
#include <rankfall/process.h>
#include <rankfall/result.h>

namespace rankfall {

struct AuditOptions {
  Index n_trials = 500'000;         // evaluations of each search; results depend on these and the seed only
  double seconds = 0;               // upper limit for the searches together; 0: none
  std::vector<Index> claims;        // numbers as in audited_claims; empty: all
  std::vector<std::string> models;  // networks that claim 28 looks at, too; its verdict is about random ones
  std::filesystem::path witnesses;  // a directory to which witnesses are written; empty: none are
  std::uint64_t seed = 0;

  Progress progress;
};

// A claim before it is tried: its name with its number ("04b composite_triangle"), what it says, where it was made,
// what would refute it, and the recorded verdict, also in words.
struct AuditedClaim {
  std::string id, statement, source, refuted_by;
  Status expected = Status::kHolds;
  Prose verdict;
};
// In the order of their numbers; of `numbers` only, unless there are none. Runs nothing. Throws Error(kUsage) for a
// number that no claim has.
RANKFALL_API std::vector<AuditedClaim> audited_claims(const std::vector<Index>& numbers = {});

// Tries every claim of the theory (docs/theory.md): searches for counterexamples where it is an inequality, measures
// where it is about networks. Rows by `claim` ("04b composite_triangle"), each with its text as verdict:
// audit.statement, audit.source, audit.refuted_by, audit.verdict (`status`; `mean`: the figure found, `n`: trials,
// `kind`: "expected", or "unexpected" when it is not the recorded one, `basis`: kDefinition where no trial could come
// out otherwise), audit.evidence, audit.command, and audit.witness where a file was written. A search that the time
// limit ended before its trials has a row audit.stopped with the status kWarning, `n` trials of `k`: where it ended
// depends on the machine.
RANKFALL_API Result audit(const AuditOptions& options);

// Looks at a saved witness again, in a hundred digits. Throws Error(kInput) if it is none.
struct CheckedWitness {
  std::string claim, statement;
  double left = 0, right = 0;
  bool applies = false;   // the claim's conditions are met
  bool violated = false;  // and left > right
  bool expected = false;  // that is what it should be: claims that fail are violated by their witnesses, others by none
};
RANKFALL_API CheckedWitness check_witness_file(const std::filesystem::path& file);

// The claims whose verdict is not the recorded one.
RANKFALL_API std::vector<std::string> unexpected_verdicts(const Result& result);

}  // namespace rankfall
