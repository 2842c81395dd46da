#pragma once

#include <span>
#include <string>
#include <vector>

#include "studies/driver.h"
#include <rankfall/matrix.h>
#include <rankfall/paths.h>

namespace rankfall {

// One model and variant, for the views of paths.h. Each function makes the rows of one view.
struct PathsJob : StudyRun {
  const PathsOptions& options;
};

std::vector<Row> head_rows(const PathsJob& job, const Progress& progress);
std::vector<Row> drawn_path_rows(const PathsJob& job, const Progress& progress);
std::vector<Row> top_path_rows(const PathsJob& job, const Progress& progress);
std::vector<Row> token_rows(const PathsJob& job, const Progress& progress);

// How many partial paths the search for the heaviest keeps.
Index beam_of(const PathsOptions& options);

// Products over what is no padding.
double valid_product(const MatrixRef<double>& a, const MatrixRef<double>& b, std::span<const std::uint8_t> valid);

// What shares are taken of: a state and its residual about the token mean; rows of padding are zero. Shares of a
// residual that double precision does not carry, at most kFloorEpsilons of the state, would be shares of rounding:
// there are none. Throws Error(kNumerical) where the state's square leaves the range of double.
struct Whole {
  Whole(const MatrixRef<double>& y, std::span<const std::uint8_t> valid);

  Matrix<double> state, residual;
  double square = 0, residual_square = 0;
  bool has_shares = true;           // the state is not zero
  bool has_residual_shares = true;  // nor is its residual, to rounding

  // Directions whose products are shares; zero where there are none.
  Matrix<double> projection() const;
  Matrix<double> residual_projection() const;
};

// "without mlp_skip every path restarts at the MLP", where it is so.
std::vector<std::string> path_notes(const Model& model, const std::vector<Variant>& variants);

}  // namespace rankfall
