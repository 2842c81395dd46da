#include "linalg/pseudo_inverse.h"

#include <limits>

#include <Eigen/SVD>

namespace rankfall {

Matrix<double> pseudo_inverse(const Matrix<double>& a) {
  // Eigen leaves the values of such a matrix undefined.
  if (!a.allFinite()) return Matrix<double>::Constant(a.cols(), a.rows(), std::numeric_limits<double>::quiet_NaN());
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(Eigen::MatrixXd(a), Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::VectorXd& values = svd.singularValues();
  const double least = 1e-10 * (values.size() > 0 ? values(0) : 0);
  const Eigen::VectorXd inverse = values.unaryExpr([&](double s) { return s > least ? 1 / s : 0.0; });
  return svd.matrixV() * inverse.asDiagonal() * svd.matrixU().transpose();
}

}  // namespace rankfall
