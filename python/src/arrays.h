#pragma once

#include <string>
#include <vector>

#include <pybind11/numpy.h>

#include <rankfall/matrix.h>

namespace rankfall::python {

// C-contiguous, in this machine's byte order: what python/rankfall/arrays.py hands over.
template <class T>
using Dense = pybind11::array_t<T, pybind11::array::c_style>;

// The last two axes of an array as matrices, one after the other, without a copy; the array must outlive them.
template <class T>
std::vector<MatrixRef<T>> matrices_of(const Dense<T>& array) {
  const auto n = static_cast<std::size_t>(array.ndim());
  const Index rows = array.shape(static_cast<pybind11::ssize_t>(n) - 2);
  const Index cols = array.shape(static_cast<pybind11::ssize_t>(n) - 1);
  Index count = 1;
  for (std::size_t i = 0; i + 2 < n; ++i) count *= array.shape(static_cast<pybind11::ssize_t>(i));
  std::vector<MatrixRef<T>> out;
  out.reserve(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) {
    out.emplace_back(Eigen::Map<const Matrix<T>>(array.data() + i * rows * cols, rows, cols));
  }
  return out;
}

// A matrix as an array that owns it: no copy.
template <class T>
pybind11::array_t<T> array_of(Matrix<T>&& matrix) {
  auto* kept = new Matrix<T>(std::move(matrix));
  const pybind11::capsule owner(kept, [](void* p) { delete static_cast<Matrix<T>*>(p); });
  return pybind11::array_t<T>({kept->rows(), kept->cols()}, kept->data(), owner);
}

}  // namespace rankfall::python
