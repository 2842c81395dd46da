#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/witness.h"

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
  // Where a search should look, if not everywhere: away from what is trivial.
  bool (*is_worth)(const Matrices& m) = nullptr;
};

// All of them; each says in `statement` what it claims. Norms are composite. The residual of an output is about its own
// reference 1 q^T X W, that of X about the mean of tokens.
std::span<const AlgebraClaim> algebra_claims();
const AlgebraClaim* algebra_claim(std::string_view name);  // null if there is none

// Throws Error(kInput) unless the witness names a claim and has matrices of shapes that go together.
void check_witness(const Witness& witness, std::string_view where);

}  // namespace rankfall
