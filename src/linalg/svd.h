#pragma once

#include <vector>

#include <rankfall/matrix.h>

namespace rankfall {

// m = left diag(values) right, values descending.  m: (n, d); left: (n, k); right: (k, d); k = min(n, d).
struct ThinSvd {
  Matrix<double> left;
  std::vector<double> values;
  Matrix<double> right;
};

// Both overwrite m, which must be finite: LAPACK's dgesdd does not return from some matrices that are not. Throw a
// numerical error where m is not finite or dgesdd does not converge.
std::vector<double> destructive_singular_values(Matrix<double>& m);
ThinSvd destructive_thin_svd(Matrix<double>& m);

// The pseudo-inverse; singular values below 1e-10 of the largest count as zero. NaN where an entry is not finite.
Matrix<double> pseudo_inverse(Matrix<double> a);

}  // namespace rankfall
