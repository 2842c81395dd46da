#pragma once

#include <optional>
#include <vector>

#include "engine/layer_loader.h"
#include "studies/bounds/centred_state.h"
#include "studies/bounds/weight_norms.h"
#include <rankfall/network.h>

// What a sub-layer with a skip cannot take away: lower bounds of the Frobenius norm of the residual behind it. Proofs
// are in docs/theory.md. J = I - 1 1^T / n.

namespace rankfall {

// Beyond so many tokens what needs eigenvalues of P is left out.
inline constexpr Index kMostSharpened = 512;

// One head with its attention matrix frozen.
struct FrozenHead {
  ScaledMatrix mixing;           // J P J, over what is no padding
  double log_mixing = kLogZero;  // of |J P J|_2
  std::optional<double> norm;    // |P|_2, for up to kMostSharpened tokens
  double log_values = kLogZero;  // of |R W|_F, R the residual of what enters attention, W = W_V W_O
};

// The least of |skip R + branch sum_h J P_h J R W_h|_F / |R|_F over all R whose rows sum to zero.
struct LeastGain {
  double log_bound = kLogZero;     // certainly not above it; -infinity where nothing can be shown
  double log_estimate = kLogZero;  // an estimate that is not below it, where the map is too large for a bound
  bool is_bound = false;
  bool is_estimate = false;  // neither: too large for both
};

// Where (n - 1) d exceeds this, the map is too large to be formed; where n d exceeds the second, to be applied a few
// times.
inline constexpr Index kLargestFormedMap = 1024;
inline constexpr Index kLargestAppliedMap = 1 << 18;

// `layer` is an attention without norms of its own, `r` the residual that enters.
LeastGain least_gain(const LoadedLayer<double>& layer, const std::vector<FrozenHead>& heads, const ScaledMatrix& r);

// log of sum_h |J P_h J|_2 |R W_h|_F, and of sum_h |J P_h J|_2 |W_h|_2.
double log_mixed_values(const std::vector<FrozenHead>& heads);
double log_mixed_weights(const std::vector<FrozenHead>& heads, const WeightNorms& norms);

// A lower bound of the logarithm of the Frobenius norm of the residual behind a norm, from the state that enters it:
// with c the centred mean, C the centring, G the gain and D the tokens' reciprocal divisors,
//   |res out|_F >= min_i D_i |R C G|_F - |D - mean D|_2 |c G|_2.
// -infinity where this is not positive.
double log_behind_norm(const CentredState& in, const Norm& norm, const VectorView<double>& gain);

// An orthonormal basis of the vectors of n entries that sum to zero, as columns (Helmert's).
Matrix<double> mean_free_basis(Index n);

// log(e^a - e^b), rounded down by what is not known of a and b; -infinity unless a > b.
double log_difference(double a, double b);

}  // namespace rankfall
