#pragma once

#include <complex>
#include <optional>
#include <span>

#include "studies/bounds/lower_bounds.h"

// Published conditions on skips, evaluated on a network. docs/theory.md says how each is read.

namespace rankfall {

// Dovonon et al., per head: the largest |skip + branch lambda_i(P) lambda_j(W_V W_O)| over i >= 2 and j, divided by the
// same over i = 1 (lambda_1(P) = 1, of the mean). Above 1 the directions that differ between tokens grow fastest: the
// head sharpens. `values` are the eigenvalues of W_O W_V, those of W_V W_O without the zeros. Nothing for one token or
// more than kMostSharpened.
std::optional<double> sharpening(const FrozenHead& head, std::span<const std::complex<double>> values, bool has_zero,
                                 double skip, double branch);

// The skip lambda at which the residual R behind attention and its skip, |lambda R + A|_F, A attention's residual, is
// as large as before: above it, the residual grows. 0 if no skip makes it fall.
std::optional<double> lambda_measured(const ScaledMatrix& r, const ScaledMatrix& a);

}  // namespace rankfall
