#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include <rankfall/matrix.h>

// Johnson-Lindenstrauss for attention (math.md 5): is P R^T R w near P w when R, k x n, has entries N(0, 1/k)?

namespace rankfall {

// One draw of R for one w, for every k at once. With u = R w / |w|, R = u w^T / |w| + R', R' independent of u and
// R' w = 0, so that in distribution, exactly,
//   P R^T R w = c P w + |w| sqrt(c / k) b,   c = |u|^2 ~ chi^2_k / k,   b = P g,   g ~ N(0, I - w w^T / |w|^2).
// A draw is a Gaussian vector g and a uniform number, of which c is the quantile.
struct SketchDraw {
  double output2 = 0;     // |P w|^2
  double cross = 0;       // P w . b
  double noise2 = 0;      // |b|^2
  double weight2 = 0;     // |w|^2
  double frobenius2 = 0;  // |P|_F^2
  double uniform = 0.5;   // in (0, 1)
};

// The vectors w of draws first .. first + count - 1, one per row. A draw's w must depend on its number only.
using SketchVectors = std::function<Matrix<double>(Index first, Index count)>;

// `n_draws` draws for P, each with its own w. A draw depends on the key and its number only. Draws are independent, as
// the interval of `failure_rate` requires, if their w are: draws that share a w fail together or not at all, and their
// number says little about how often the claim fails.
// Cost: 4 n^2 n_draws.  One BLAS thread.
std::vector<SketchDraw> draw_sketches(const MatrixRef<double>& p, const SketchVectors& vectors, Index n_draws,
                                      RandomKey key);

// Each draw's w is N(0, I).
SketchVectors gaussian_vectors(Index n, RandomKey key);
// The same less its mean.
SketchVectors mean_free_vectors(Index n, RandomKey key);
// Each draw's w is m a with a of N(0, I): columns alone would be too few for more draws than there are columns.
SketchVectors combined_columns(Matrix<double> m, RandomKey key);

enum class SketchClaim {
  kRelative,  // |P R^T R w - P w| <= eps |P w|: as printed
  kNorms,     // <= eps |P|_F |w|: what Johnson-Lindenstrauss gives
};

// |P R^T R w - P w|^2 of a draw with k rows.
double sketch_error2(const SketchDraw& draw, Index k);

struct FailureRate {
  double rate = 0;
  double low = 0, high = 1;  // 95 %, Clopper and Pearson
  Index n = 0;               // draws
};
FailureRate failure_rate(std::span<const SketchDraw> draws, SketchClaim claim, double eps, Index k);

// The smallest k <= most at which no more than `failure` of the draws fail, by bisection: the rate falls with k. None
// if there is none.
std::optional<Index> smallest_k(std::span<const SketchDraw> draws, SketchClaim claim, double eps, double failure,
                                Index most);

// 5 ln n / (eps^2 - eps^3), rounded up.  Requires 0 < eps < 1, n >= 1.
Index claimed_k(Index n, double eps);

}  // namespace rankfall
