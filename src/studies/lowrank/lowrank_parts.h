#pragma once

#include <span>
#include <string>
#include <vector>

#include "studies/driver.h"
#include "studies/lowrank/sketches.h"
#include <rankfall/lowrank.h>
#include <rankfall/matrix.h>

// The parts of `lowrank`, each the rows of one variant of a model. Rows are as rankfall/lowrank.h says.

namespace rankfall {

struct LowrankJob : StudyRun {
  const LowrankOptions& options;
};

// Singular values of every P.
std::vector<Row> spectrum_rows(const LowrankJob& job, const Progress& progress);

// What is seen of one block's P at a length: of each head, in order.
struct HeadAtLength {
  double sigma2 = 0;
  double logit_std = 0;  // of log P along a row, root of the mean square over rows
  // Draws of "values", "gaussian", "mean_free".
  std::vector<std::vector<SketchDraw>> draws;
};
struct AtLength {
  Index n_tokens = 0;
  std::vector<HeadAtLength> heads;
};

// The lengths of the options that `states` has tokens for. `states`: what enters block 0, tokens as rows.
std::vector<AtLength> look_at_lengths(const LowrankJob& job, const Matrix<double>& states, const Progress& progress);

// Token states that enter block 0, valid tokens of all samples one below the other, at most n_tokens.
Matrix<double> states_of(const LowrankJob& job, Index n_tokens);

// The second singular value; above 512 tokens that of a Krylov space, which is never above it.
double second_value(const MatrixRef<double>& p, std::uint64_t seed);

// Slope of log_value over log_n, with its standard error.
Row fitted_row(const char* metric, const std::string& kind, const std::vector<double>& log_n,
               const std::vector<double>& log_value);

std::vector<Row> scaling_rows(const LowrankJob& job, std::span<const AtLength> lengths);
std::vector<Row> sketch_rows(const LowrankJob& job, std::span<const AtLength> lengths);

// Each kind's states against the network's own.
std::vector<Row> kind_rows(const LowrankJob& job, const Progress& progress);

}  // namespace rankfall
