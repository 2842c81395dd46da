#pragma once

#include <type_traits>

#include <Eigen/Core>

#include <rankfall/index.h>

// The matrix types of the API. Rows are tokens, columns channels; storage is row-major. Matrix<T> owns, MatrixRef<T>
// looks. A program that uses these must be compiled with EIGEN_MAX_ALIGN_BYTES=64, as the CMake target
// rankfall::rankfall says; otherwise the two sides disagree about how memory is aligned.

namespace rankfall {

static_assert(std::is_same_v<Index, Eigen::Index>);

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
using RowVector = Eigen::Matrix<T, 1, Eigen::Dynamic, Eigen::RowMajor>;

// Read-only view of a matrix or of a block of one; the matrix must outlive it.
template <class T>
using MatrixRef = Eigen::Ref<const Matrix<T>, 0, Eigen::OuterStride<>>;

template <class T>
using MutableMatrixRef = Eigen::Ref<Matrix<T>, 0, Eigen::OuterStride<>>;

template <class T>
using RowVectorRef = Eigen::Ref<const RowVector<T>>;

}  // namespace rankfall
