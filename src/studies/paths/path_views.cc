#include "studies/paths/path_views.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/errors.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include <rankfall/measure.h>

namespace rankfall {

double valid_product(const MatrixRef<double>& a, const MatrixRef<double>& b, std::span<const std::uint8_t> valid) {
  double sum = 0;
  for (const Index i : valid_rows(a.rows(), valid)) sum += a.row(i).dot(b.row(i));
  return sum;
}

Whole::Whole(const MatrixRef<double>& y, std::span<const std::uint8_t> valid)
    : state(Matrix<double>::Zero(y.rows(), y.cols())), residual(state) {
  const Matrix<double> rows = centred_rows<double>(y, valid);
  const std::vector<Index> indices = valid_rows(y.rows(), valid);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    state.row(indices[i]) = y.row(indices[i]);
    residual.row(indices[i]) = rows.row(static_cast<Index>(i));
  }
  square = state.squaredNorm();
  residual_square = residual.squaredNorm();
  has_shares = !state.isZero(0);
  // Squares of small entries are lost long before the sum is.
  if (has_shares && !(square > 1e-280 && square < 1e280)) {
    throw numerical_error("the square of a state's norm is {:.1e}: shares of it leave the range of double", square);
  }
  constexpr double kFloor = kFloorEpsilons * std::numeric_limits<double>::epsilon();
  has_residual_shares = residual_square > kFloor * kFloor * square;
}

Matrix<double> Whole::projection() const { return has_shares ? Matrix<double>(state / square) : state; }

Matrix<double> Whole::residual_projection() const {
  if (!has_residual_shares) return Matrix<double>::Zero(residual.rows(), residual.cols());
  return residual / residual_square;
}

std::vector<std::string> path_notes(const Model& model, const std::vector<Variant>& variants) {
  std::vector<std::string> notes;
  for (const Variant& variant : variants) {
    const Network network = apply(variant, model.network);
    const bool restarts = std::ranges::any_of(
        network.layers, [](const SubLayer& layer) { return layer.skip == 0 && !layer.attention(); });
    if (restarts) {
      notes.push_back(
          fmt::format("{}, variant {}: without mlp_skip every path restarts at the MLP", model.name, variant.name));
    }
  }
  return notes;
}

}  // namespace rankfall
