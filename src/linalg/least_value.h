#pragma once

#include <functional>

#include <rankfall/matrix.h>

// The least singular value of a linear map: a number that is certainly not above it, or an estimate that is not below.

namespace rankfall {

// A lower bound of the least singular value of the square matrix a, mostly within 10^-6 of it; 0 where it is lost in
// rounding or a is not finite. It is certified: a^T a - t has a Cholesky factorisation, with a margin for the rounding
// of both, so no eigenvalue of a^T a is below t. Infinity if a has no entries.  Cost: O(n^3), n^2 numbers of memory.
double least_singular_value_bound(const MatrixRef<double>& a);

using LinearMap = std::function<Matrix<double>(const Matrix<double>&)>;

// An estimate from above: the least of |map(x)| / |x| over the Krylov space of `steps` dimensions that begins with
// `start`, by Golub and Kahan's bidiagonalisation without reorthogonalisation. With one step it is
// |map(start)| / |start|. Norms are Frobenius; `transposed` is the adjoint of `map`. 0 if start is zero.
double least_singular_value_estimate(const LinearMap& map, const LinearMap& transposed, const Matrix<double>& start,
                                     int steps);

}  // namespace rankfall
