#pragma once

#include <rankfall/matrix.h>

namespace rankfall {

// How far a matrix is from its best approximation of rank one, s_1 u v^T.
struct RankOneDistance {
  double ratio = 0;      // s_2 / s_1
  double remainder = 0;  // composite norm of M - s_1 u v^T over that of M
};

// M = 1 mean + residual, the rows of the residual summing to zero. Where the residual is below 1e-7 of the mean part
// the first-order formula is taken, u = 1/sqrt n, v = mean/|mean|, so that there is no floor; its relative error is of
// that order. Zero for M = 0.  Cost: that of the eigenvalues of the smaller of M M^T and M^T M.
RankOneDistance rank_one_distance(const RowVectorRef<double>& mean, const MatrixRef<double>& residual);

// The second of them in float32 throughout, by sgesdd with vectors, as the published box-plot has it.
double rank_one_remainder_f32(const MatrixRef<double>& m);

}  // namespace rankfall
