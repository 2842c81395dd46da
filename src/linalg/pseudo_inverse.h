#pragma once

#include <rankfall/matrix.h>

namespace rankfall {

// The pseudo-inverse; singular values below 1e-10 of the largest count as zero. NaN where an entry is not finite.
Matrix<double> pseudo_inverse(const Matrix<double>& a);

}  // namespace rankfall
