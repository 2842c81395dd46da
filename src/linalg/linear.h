#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "linalg/gemm.h"
#include <rankfall/matrix.h>

namespace rankfall {

// A weight matrix w: [out, in] as it lies in memory: `stored` is w, or w^T when transposed.
template <class T>
struct WeightView {
  Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>> stored{nullptr, 0, 0, Eigen::OuterStride<>(0)};
  bool transposed = false;

  Index n_out() const { return transposed ? stored.cols() : stored.rows(); }
  Index n_in() const { return transposed ? stored.rows() : stored.cols(); }
};

template <class T>
using VectorView = Eigen::Map<const RowVector<T>>;

// Output columns are cut into panels of this width, whatever the number of threads, so that one sample can use all
// cores and every result is the same with any number of them. On BERT-base shapes and one thread (bench_linear) cutting
// costs 6 % at 768 columns from 768 and gains as much at the larger shapes; four panels to 768 columns keep four cores
// busy.
inline constexpr Index kPanelColumns = 192;

inline Index n_panels(Index n_out) { return (n_out + kPanelColumns - 1) / kPanelColumns; }

// Columns [first, first + width) of y = x w^T + 1 b.  b may be empty (no bias).
template <class T>
void linear_panel(const MatrixRef<T>& x, const WeightView<T>& w, const VectorView<T>& b, Index panel,
                  MutableMatrixRef<T> y) {
  const Index first = panel * kPanelColumns;
  const Index width = std::min(kPanelColumns, w.n_out() - first);
  auto out = y.middleCols(first, width);
  if (w.transposed) {
    gemm<T>(false, false, T(1), x, w.stored.middleCols(first, width), T(0), out);
  } else {
    gemm<T>(false, true, T(1), x, w.stored.middleRows(first, width), T(0), out);
  }
  if (b.size() > 0) out.rowwise() += b.segment(first, width);
}

// y = x w^T + 1 b, then finish(y columns) on each panel; panels run in parallel.
template <class T, class Finish>
Matrix<T> linear(const MatrixRef<T>& x, const WeightView<T>& w, const VectorView<T>& b, const Finish& finish) {
  Matrix<T> y(x.rows(), w.n_out());
  parallel_for(n_panels(w.n_out()), [&](Index panel) {
    linear_panel<T>(x, w, b, panel, y);
    const Index first = panel * kPanelColumns;
    finish(MutableMatrixRef<T>(y.middleCols(first, std::min(kPanelColumns, w.n_out() - first))));
  });
  return y;
}

template <class T>
Matrix<T> linear(const MatrixRef<T>& x, const WeightView<T>& w, const VectorView<T>& b) {
  return linear<T>(x, w, b, [](const MutableMatrixRef<T>&) {});
}

}  // namespace rankfall
