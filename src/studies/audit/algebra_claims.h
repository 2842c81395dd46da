#pragma once

#include <span>
#include <string>
#include <vector>

#include "studies/audit/witness.h"

// Claims about small matrices, each an inequality left <= right, in double and in a hundred digits.

namespace rankfall {

struct Sides {
  double left = 0, right = 0;
  bool applies = true;   // the conditions are met
  bool greater = false;  // left > right

  bool violated() const { return applies && greater; }
};

struct Shape {
  std::string name;
  Index rows = 1, cols = 1;
};

struct AlgebraClaim {
  std::string name, statement;
  bool is_proved = false;
  Sides (*sides)(const Matrices& m) = nullptr;
  // The same in a hundred digits, rounded at the end; what is greater is decided before, by more than 1e-90 of it.
  Sides (*sides_exactly)(const Matrices& m) = nullptr;
  // What it is about, for n tokens and d channels.
  std::vector<Shape> (*shapes)(Index n, Index d) = nullptr;
  // The same for channels that are equal in groups of so many (Witness::channels); null where a claim has none.
  Sides (*sides_of_groups)(const Matrices& m, std::span<const Index> channels) = nullptr;
  // Where a search should look, if not everywhere: away from what is trivial.
  bool (*is_worth)(const Matrices& m) = nullptr;
};

// All of them; each says in `statement` what it claims. Norms are composite. The residual of an output is about its own
// reference 1 q^T X W, that of X about the mean of tokens.
std::span<const AlgebraClaim> algebra_claims();
const AlgebraClaim* algebra_claim(std::string_view name);  // null if there is none

// Both sides of a witness that check_witness accepts, in a hundred digits.
Sides exact_sides(const Witness& witness);

// Theorem 2.3 for two heads of rank one on two tokens, of width d >= 2: X = +-r e_1, both W_QK = e_1 e_1^T, W_1 = e_1
// e_1^T and W_2 = e_1 1^T / sqrt d, as two groups of channels: the first, and all others. Both heads have the same
// beta, but the composite norm of their sum grows: left / right tends to (d^(1/4) + d^(-1/4)) / 16 as r falls, above 1
// from d = 64,514.
Witness rank_one_heads(Index d);
Matrices rank_one_matrices(Index d);  // the same, formed: five matrices of up to d x d

// Throws Error(kInput) unless the witness names a claim and has matrices of shapes that go together.
void check_witness(const Witness& witness, std::string_view where);

}  // namespace rankfall
