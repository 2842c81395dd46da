#pragma once

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

// All of them; each says in `statement` what it claims. Norms are composite. The residual of an output is about its own
// reference 1 q^T X W, that of X about the mean of tokens.
std::span<const AlgebraClaim> algebra_claims();
const AlgebraClaim* algebra_claim(std::string_view name);  // null if there is none

// Throws Error(kInput) unless the witness names a claim and has matrices of shapes that go together.
void check_witness(const Witness& witness, std::string_view where);

}  // namespace rankfall
