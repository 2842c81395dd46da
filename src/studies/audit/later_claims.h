#pragma once

#include <span>

#include "studies/audit/algebra_claims.h"

// Inequalities of papers after 2021 (claims 18 to 20), as algebra_claims() has them.

namespace rankfall {

std::span<const AlgebraClaim> later_claims();

// X = {u, u+v, u+2v} and {u, 2u} with u, v free of a mean over channels and at right angles: LayerNorm raises the
// affine rank of the first from 1 to 2, and lowers that of the second from 1 to 0.
Witness tokens_on_a_line();
Witness tokens_on_a_ray();

// Three tokens: A = (2, 0, -2), B = (1, 1, -3).
Witness distant_residuals();

// Two tokens at an angle that attend to themselves; W_V takes from the skip connection what tells them apart.
Witness cancelled_skip();

// Of a state's tokens before and after LayerNorm (no gain, no bias, no epsilon); directions that are below 10^-9 of the
// largest entry do not count.
struct AffineRanks {
  Index before = 0, after = 0;
};
AffineRanks affine_ranks(const Matrix<double>& x);

}  // namespace rankfall
