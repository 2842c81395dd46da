#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/witness.h"
#include <rankfall/audit.h>

namespace rankfall {

enum class AuditVerdict { kProved, kNoViolation, kFails, kMeasured };

// What became of a claim.
struct AuditFinding {
  AuditVerdict verdict = AuditVerdict::kProved;
  std::optional<double> figure;  // best ratio, exponent, failure rate
  Index n_trials = 0;
  std::string evidence;
  std::optional<Witness> witness;
};

struct AuditClaim {
  Index number = 1;
  std::string name, statement;
  AuditVerdict expected = AuditVerdict::kProved;
  // `seconds` is its share of the time; only searches look at it.
  std::function<AuditFinding(double seconds, std::uint64_t seed)> run;
  bool is_search = false;
};

// About small matrices: 1, 2, 4 to 8, 16, 17.
std::vector<AuditClaim> matrix_claims();
// About networks: 3, 9 to 15.
std::vector<AuditClaim> network_claims();

// In a hundred digits, on random numbers: the largest entry of softmax(z + c) - softmax(z); the largest distance of a
// row sum of P_1 P_2 from 1.
double largest_shift_difference(std::uint64_t seed, Index n_trials);
double largest_row_sum_error(std::uint64_t seed, Index n_trials);

}  // namespace rankfall
