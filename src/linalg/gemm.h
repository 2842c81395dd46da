#pragma once

#include <cstdint>

#include <rankfall/matrix.h>

namespace rankfall {

// c = alpha op(a) op(b) + beta c, op(x) = x or x^T; with beta = 0 the old c is not read. For float and double one BLAS
// call; other scalars, used by tests, go through gemm_impl.h. Sizes must agree and fit in an int. Adds 2 m n k to
// flops_done().
template <class T>
void gemm(bool transpose_a, bool transpose_b, T alpha, const MatrixRef<T>& a, const MatrixRef<T>& b, T beta,
          MutableMatrixRef<T> c);
template <>
void gemm<float>(bool, bool, float, const MatrixRef<float>&, const MatrixRef<float>&, float, MutableMatrixRef<float>);
template <>
void gemm<double>(bool, bool, double, const MatrixRef<double>&, const MatrixRef<double>&, double,
                  MutableMatrixRef<double>);

// alpha op(a) op(b) as a matrix of its own.
template <class T>
Matrix<T> product(bool transpose_a, bool transpose_b, const MatrixRef<T>& a, const MatrixRef<T>& b, T alpha = T(1)) {
  Matrix<T> out(transpose_a ? a.cols() : a.rows(), transpose_b ? b.rows() : b.cols());
  gemm<T>(transpose_a, transpose_b, alpha, a, b, T(0), out);
  return out;
}

// Floating-point operations of all products of this process so far.
std::uint64_t flops_done();
void count_flops(Index m, Index n, Index k);

// OpenBLAS's number of threads is process-global. While one of these lives it is `n`; then the old value returns. Every
// entry point of the library that multiplies holds one with n = 1: rankfall does its own parallelism, and results may
// not depend on how BLAS cuts a product.
class BlasThreads {
 public:
  explicit BlasThreads(int n);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  int before_;
};

}  // namespace rankfall
