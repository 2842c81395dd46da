#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "studies/audit/witness.h"
#include <rankfall/audit.h>

namespace rankfall {

// What became of a claim.
struct AuditFinding {
  Status verdict = Status::kHolds;    // proved; or kNoCounterexample, kViolated, kMeasured
  std::optional<double> figure = {};  // best ratio, exponent, failure rate
  Index n_trials = 0;
  std::optional<Index> n_planned = {};  // trials of a search that the time limit ended before
  std::string evidence = {};
  std::optional<Witness> witness = {};
  std::vector<Row> rows = {};  // what was measured; `claim` is filled in by audit()
};

// How long a search goes on, and what a claim about networks looks at besides its own.
struct SearchEffort {
  Index n_trials = 0;
  double seconds = 0;  // upper limit; 0: none
  std::span<const std::string> models = {};
};

struct AuditClaim {
  Index number = 1;
  std::string name, statement;
  Status expected = Status::kHolds;
  // Only searches look at the effort.
  std::function<AuditFinding(const SearchEffort& effort, std::uint64_t seed)> run;
  bool is_search = false;
  bool by_definition = false;  // no trial could come out otherwise
  bool has_witness = true;     // if false, its example is a construction that no file holds
  bool as_recorded = false;    // of a statement whose source could not be read
};

// A search goes on in several places in turn, a piece of the trials each; each place once at least.
struct SearchPlace {
  Index n = 0, d = 0;
  Matrices start = {};  // of the first piece
};
AuditFinding searched(const char* name, const SearchEffort& effort, std::uint64_t seed,
                      const std::vector<SearchPlace>& places);
AuditClaim search_claim(Index number, const char* name, Status expected, const std::vector<SearchPlace>& places);

// About small matrices and one layer: 1, 2, 4 to 8, 16 to 21.
std::vector<AuditClaim> matrix_claims();
std::vector<AuditClaim> later_matrix_claims();  // of those 18 to 20
AuditClaim attention_scaling_claim();           // 21
// About networks: 3, 9 to 15, 22 to 28.
std::vector<AuditClaim> network_claims();
std::vector<AuditClaim> component_claims();  // of those 22 to 27
AuditClaim short_paths_claim();              // 28

// Does the low rank of P cause the collapse? (14)
AuditFinding rank_of_attention(const SearchEffort& effort, std::uint64_t seed);

// In a hundred digits, on random numbers: the largest entry of softmax(z + c) - softmax(z); the largest distance of a
// row sum of P_1 P_2 from 1.
double largest_shift_difference(std::uint64_t seed, Index n_trials);
double largest_row_sum_error(std::uint64_t seed, Index n_trials);

}  // namespace rankfall
