#pragma once

#include <cstdint>
#include <vector>

#include <rankfall/matrix.h>

// Leading singular values of a matrix too large for all of them.

namespace rankfall {

struct LeadingOptions {
  Index dimension = 320;   // of the space; as many values come of it, the first ones converged
  std::uint64_t seed = 0;  // of the start and of the bounds' test vectors

  Index block = 16;  // columns that go through the matrix together
};

// sigma_i are the singular values of A, Q the basis found, s_i the values of Q^T A.
struct LeadingValues {
  std::vector<double> values;  // s_i <= sigma_i, descending
  double frobenius = 0;        // |A|_F
  // Upper bounds, each wrong with probability 1e-10 at most, over the test vectors.
  double rest = 0;    // of |A - Q Q^T A|: sigma_i^2 <= s_i^2 + rest^2, and sigma_i <= rest beyond the values
  double second = 0;  // of sigma_2
};

// A randomised block Krylov space (Halko, Martinsson and Tropp 2011; Musco and Musco 2015): A G, (A A^T) A G, ... for a
// Gaussian G. The values are exact up to rounding when the space has as many dimensions as A has rank.
// Bounds: for a matrix M and r Gaussian w_i, |M| <= 10 sqrt(2 / pi) max_i |M w_i| but for a probability of 10^-r (HMT,
// Lemma 4.1), here for (M M^T)^q M, whose norm is |M|^(2q + 1), so that little is left of the factor.
// Entries must be finite, else Error kNumerical.  Cost: 4 rows columns (dimension + 200). One BLAS thread; thread-safe.
LeadingValues leading_values(const MatrixRef<double>& a, const LeadingOptions& options = {});

}  // namespace rankfall
