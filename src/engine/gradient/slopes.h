#pragma once

#include "linalg/linear.h"
#include <rankfall/matrix.h>
#include <rankfall/network.h>

// Derivatives of the functions that act on single tokens or entries.

namespace rankfall {

// act'(x), entry by entry; of ReLU at zero: 0.
Matrix<double> slope_of(Activation act, const MatrixRef<double>& x);

// From the derivative by norm(x) to that by x, row by row; gain may be empty.
//   LayerNorm: (h - mean(h) - c (h . c) / (d s^2)) / s with h = y gain, c = x - mean(x), s = sqrt(|c|^2 / d + eps)
//   RMSNorm: the same without means;  kAffine: h
Matrix<double> norm_back(const Norm& norm, const VectorView<double>& gain, const MatrixRef<double>& x,
                         Matrix<double> y);

}  // namespace rankfall
