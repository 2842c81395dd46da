#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <rankfall/matrix.h>

// Singular values and the rank measures made of them (math.md 6). All in double, by LAPACK's dgesdd without vectors.
// `valid` as in norms.h. Non-finite entries, or no convergence, throw Error kNumerical. Thread-safe; the caller sets
// the number of BLAS threads. Defined for float and double.

namespace rankfall {

// The min(rows, columns) singular values of m, descending, zeros included.  Cost: O(n d min(n, d)).
template <class T>
std::vector<double> singular_values(const MatrixRef<T>& m);

// The largest singular value, from the eigenvalues of the smaller of m m^T and m^T m: right to rounding of itself, and
// several times faster than all of them. Entries should be of order 1; their squares may not leave the range of double.
double spectral_norm(const MatrixRef<double>& m);

// exp(entropy of s / sum s), Roy and Vetterli 2007; 0 of zeros. s descending.
double effective_rank(std::span<const double> s);

// s are the singular values of the valid rows of X, r those of the same rows less their mean.
struct RankMeasures {
  double spectral = 0;           // s_1
  double stable = 0;             // sum s^2 / s_1^2
  double effective = 0;          // effective_rank
  double participation = 0;      // (sum l)^2 / sum l^2, l = r^2: the centred covariance's eigenvalues up to a factor
  double numerical = 0;          // number of s > max(n, d) eps(T) s_1
  double singular_min = 0;       // the last s
  double residual_spectral = 0;  // r_1
};

// A zero matrix (or none) has rank 0 by every measure; equal rows have participation 0. All are >= 1 otherwise.
template <class T>
RankMeasures rank_measures(const MatrixRef<T>& x, std::span<const std::uint8_t> valid);

}  // namespace rankfall
