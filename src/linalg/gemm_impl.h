#pragma once

#include "linalg/gemm.h"
#include <rankfall/matrix.h>

// The plain product, for scalars that no BLAS knows.

namespace rankfall {

template <class T>
void gemm(bool transpose_a, bool transpose_b, T alpha, const MatrixRef<T>& a, const MatrixRef<T>& b, T beta,
          MutableMatrixRef<T> c) {
  Matrix<T> product;
  if (transpose_a && transpose_b) {
    product = a.transpose() * b.transpose();
  } else if (transpose_a) {
    product = a.transpose() * b;
  } else if (transpose_b) {
    product = a * b.transpose();
  } else {
    product = a * b;
  }
  if (beta == T(0)) {
    c = alpha * product;
  } else {
    c = alpha * product + beta * c;
  }
}

}  // namespace rankfall
