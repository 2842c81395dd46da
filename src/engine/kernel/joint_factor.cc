#include "engine/kernel/joint_factor.h"

#include <cmath>
#include <limits>

namespace rankfall {

Matrix<double> JointFactor::add(const std::vector<Matrix<double>>& covariances) {
  const Index before = factor_.rows();
  Matrix<double> wider = Matrix<double>::Zero(before + n_, before + n_);
  wider.topLeftCorner(before, before) = factor_;
  const double largest = covariances.back().diagonal().cwiseAbs().maxCoeff();
  // What a token has beyond those before it is rounding below this.
  const double least = 4 * static_cast<double>(before + n_) * std::numeric_limits<double>::epsilon() * largest;
  for (const Index i : tokens_->rows()) {
    const Index row = before + i;
    for (std::size_t state = 0; state < covariances.size(); ++state) {
      for (const Index j : tokens_->rows()) {
        const Index column = static_cast<Index>(state) * n_ + j;
        if (column > row) break;
        const double left = covariances[state](i, j) - wider.row(row).head(column).dot(wider.row(column).head(column));
        if (column == row) {
          wider(row, row) = left > least ? std::sqrt(left) : 0;
        } else if (wider(column, column) > 0) {
          wider(row, column) = left / wider(column, column);
        }
      }
    }
  }
  factor_ = std::move(wider);
  return factor_.bottomRows(n_);
}

}  // namespace rankfall
