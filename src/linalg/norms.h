#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include <rankfall/matrix.h>

// Norms, residuals and cosines of states (math.md 1 and 6). A state X has a row per token. `valid` has a byte per row,
// zero for padding; empty means that every row counts. Padding rows take no part in anything, whatever they hold.
//
// Sums of float input are in double. A NaN makes every norm NaN; an infinity gives infinite norms and NaN residuals.
// Thread-safe. Defined for float and double; norms_impl.h has the templates for other scalars.

namespace rankfall {

struct Norms {
  double one = 0;  // largest column sum of absolute values
  double inf = 0;  // largest row sum of absolute values
  double frobenius = 0;

  double composite() const { return std::sqrt(one) * std::sqrt(inf); }  // sqrt(one inf), which is no norm
};

// No overflow or underflow unless a norm itself leaves the range of double. All zero if x is empty.
template <class T>
Norms norms(const MatrixRef<T>& x);

struct CentredNorms {
  Norms residual, state;  // of X - 1 m and of X
};

// m is the mean of the rows. The residual is formed as (x_i - x_0) - mean_k(x_k - x_0): where rows nearly agree their
// differences are exact, so it is right to rounding of the residual, not of the state, and zero for equal rows. All
// zero without valid rows.  Cost: two passes.
template <class T>
CentredNorms centred_norms(const MatrixRef<T>& x, std::span<const std::uint8_t> valid);

// That residual as a matrix, valid rows only, in their order.
template <class T>
Matrix<double> centred_rows(const MatrixRef<T>& x, std::span<const std::uint8_t> valid);

struct Cosines {
  double mean = 0;      // of cos(x_i, x_j) over the pairs i != j of valid rows
  double mean_abs = 0;  // of |cos(x_i, x_j)|
  Index n_pairs =
      0;  // unordered; 0 with fewer than two valid rows: then there are no means, and the fields above are 0
};

// A row of zeros has cosine 0 with every row.  Cost: n^2 d multiplications in T, as products of 256 rows by 256;
// n d + 256^2 numbers of memory.
template <class T>
Cosines cosines(const MatrixRef<T>& x, std::span<const std::uint8_t> valid);

}  // namespace rankfall
