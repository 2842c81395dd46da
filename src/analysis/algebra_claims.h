#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/witness.h"

// Claims about small matrices, each an inequality left <= right, in double and in a hundred digits.

namespace rankfall {

struct Sides {
  double left = 0, right = 0;
  bool applies = true;  // the conditions are met

  bool violated() const { return applies && left > right; }
};

struct Shape {
  std::string name;
  Index rows = 1, cols = 1;
};

struct AlgebraClaim {
  std::string name, statement;
  bool is_proved = false;
  Sides (*sides)(const Matrices& m) = nullptr;
  // The same in a hundred digits, rounded at the end; `left > right` is decided before rounding.
  Sides (*sides_exactly)(const Matrices& m) = nullptr;
  // What it is about, for n tokens and d channels.
  std::vector<Shape> (*shapes)(Index n, Index d) = nullptr;
};

// All of them:
//   composite_submultiplicative  |A B| <= |A| |B|
//   composite_triangle           |A + B| <= |A| + |B|
//   softmax_perturbation         softmax(A + E)_j <= (1 + 2 range E) softmax(A)_j, and >= (1 - range E); given range E
//   <= 1.2564 softmax_perturbation_any     the same without the condition entrywise_step               P R <= (I + 2 D)
//   1 q^T R entry by entry, as the printed proof uses it theorem_2_2                  one head: |res SA(X)| <= 4/sqrt d
//   |W_QK|_1 |W| |res X|^3 theorem_2_3                  two heads: 4/sqrt d beta H |res X|^3 heads_add |M_1 + M_2| <=
//   |M_1| + |M_2| for the residuals of two heads
// Norms are composite; res of an output is about its own reference, of X about the mean.
std::span<const AlgebraClaim> algebra_claims();
const AlgebraClaim* algebra_claim(std::string_view name);  // null if there is none

// Throws Error(kInput) unless the witness names a claim and has matrices of shapes that go together.
void check_witness(const Witness& witness, std::string_view where);

struct SearchOptions {
  Index n = 2, d = 1;
  Index n_trials = 20'000;  // evaluations
  std::uint64_t seed = 0;
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
