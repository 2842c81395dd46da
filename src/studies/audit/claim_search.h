#pragma once

#include <cstdint>

#include "studies/audit/algebra_claims.h"

namespace rankfall {

struct SearchOptions {
  Index n = 2, d = 1;
  Index n_trials = 20'000;  // evaluations
  std::uint64_t seed = 0;
  Matrices start = {};  // where the first of the restarts begins; empty: at random, as the others
};
struct Found {
  Matrices best;
  double log_ratio = 0;  // of left / right, where it applies
  Index n_trials = 0;
};

// The largest left / right: random restarts, each improved by random steps whose size adapts. Depends on the options
// only.
Found search(const AlgebraClaim& claim, const SearchOptions& options);

}  // namespace rankfall
