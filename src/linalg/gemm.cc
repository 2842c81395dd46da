#include "linalg/gemm.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include <cblas.h>
#include <sys/mman.h>

#include "base/dcheck.h"
#include <rankfall/process.h>

// OpenBLAS's own, which its headers do not name. Only address space: the pages are touched by products alone.
extern "C" {
[[gnu::weak]] void* blas_memory_alloc(int purpose);
[[gnu::weak]] void blas_memory_free(void* buffer);
}

namespace rankfall {
namespace {

std::atomic<std::uint64_t>& flop_counter() {
  static std::atomic<std::uint64_t> n{0};
  return n;
}

// OpenBLAS wants a buffer for each thread that multiplies at the same time and, where the system has no memory for it,
// asks again for ever. So they are all taken before the first product, while it can still be seen whether there is
// room; they stay in its pool. Its own threads, which we do not use, take one each, sooner or later. Without room that
// is std::bad_alloc, which can be reported.
void reserve_buffers(int n_threads, int n_before) {
  constexpr std::size_t kBufferBytes = std::size_t{128} << 20;
  constexpr std::size_t kMargin = std::size_t{192} << 20;  // what other threads may take meanwhile
  const auto n = static_cast<std::size_t>(n_threads + std::max(openblas_get_num_threads() - 1, 0));
  const std::size_t bytes = kBufferBytes * (n - static_cast<std::size_t>(n_before)) + kMargin;
  void* probe = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) throw std::bad_alloc();
  munmap(probe, bytes);
  if (!blas_memory_alloc || !blas_memory_free) return;
  std::vector<void*> buffers(n);
  for (void*& buffer : buffers) buffer = blas_memory_alloc(0);
  for (void* buffer : buffers) blas_memory_free(buffer);
}

// For as many threads as rankfall has now; once for each larger number. OpenBLAS's pool has room for twice the threads
// it was built for, 64 with Debian, and it warns where it is asked for more.
void reserve_buffers() {
  constexpr int kMost = 48;
  static std::mutex mutex;
  static int n_reserved = 0;
  const std::lock_guard lock(mutex);
  const int n_threads = std::min(threads(), kMost);
  if (n_threads <= n_reserved) return;
  reserve_buffers(n_threads, n_reserved);
  n_reserved = n_threads;
}

CBLAS_TRANSPOSE blas_transpose(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }

void blas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha, const float* a, int lda,
               const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void blas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha, const double* a, int lda,
               const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void call_blas(bool transpose_a, bool transpose_b, T alpha, const MatrixRef<T>& a, const MatrixRef<T>& b, T beta,
               MutableMatrixRef<T> c) {
  const Index m = c.rows();
  const Index n = c.cols();
  const Index k = transpose_a ? a.rows() : a.cols();
  RANKFALL_DCHECK((transpose_a ? a.cols() : a.rows()) == m);
  RANKFALL_DCHECK((transpose_b ? b.cols() : b.rows()) == k);
  RANKFALL_DCHECK((transpose_b ? b.rows() : b.cols()) == n);
  if (m == 0 || n == 0) return;
  if (k == 0) {
    if (beta == T(0)) {
      c.setZero();
    } else {
      c *= beta;
    }
    return;
  }
  count_flops(m, n, k);
  blas_gemm(blas_transpose(transpose_a), blas_transpose(transpose_b), static_cast<int>(m), static_cast<int>(n),
            static_cast<int>(k), alpha, a.data(), static_cast<int>(a.outerStride()), b.data(),
            static_cast<int>(b.outerStride()), beta, c.data(), static_cast<int>(c.outerStride()));
}

}  // namespace

template <>
void gemm<float>(bool transpose_a, bool transpose_b, float alpha, const MatrixRef<float>& a, const MatrixRef<float>& b,
                 float beta, MutableMatrixRef<float> c) {
  call_blas<float>(transpose_a, transpose_b, alpha, a, b, beta, c);
}

template <>
void gemm<double>(bool transpose_a, bool transpose_b, double alpha, const MatrixRef<double>& a,
                  const MatrixRef<double>& b, double beta, MutableMatrixRef<double> c) {
  call_blas<double>(transpose_a, transpose_b, alpha, a, b, beta, c);
}

std::uint64_t flops_done() { return flop_counter().load(std::memory_order_relaxed); }

void count_flops(Index m, Index n, Index k) {
  flop_counter().fetch_add(
      2 * static_cast<std::uint64_t>(m) * static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(k),
      std::memory_order_relaxed);
}

BlasThreads::BlasThreads(int n) : before_(openblas_get_num_threads()) {
  reserve_buffers();
  if (before_ != n) openblas_set_num_threads(n);
}

BlasThreads::~BlasThreads() {
  if (openblas_get_num_threads() != before_) openblas_set_num_threads(before_);
}

}  // namespace rankfall
