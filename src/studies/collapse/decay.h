#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rankfall/index.h>
#include <rankfall/result.h>

// How a curve of log10 of a residual falls with depth (math.md 2). curve[l] is the value of hidden state l; a curve
// ends where it is not finite.

namespace rankfall {

// (c_l - c_{l-1}) / (c_{l-1} - c_{l-2}): 3 for pure attention, 1 for geometric decay. Nothing before l = 2, and where
// the step before is below 0.05, which says nothing.
std::optional<double> local_exponent(std::span<const double> curve, Index l);

struct Decay {
  // kDoublyExponential: the last three local exponents exceed 2 and the residual falls by a factor of 2 or more over
  // them. kExponential: over the last half of the curve, five states at least, it falls by a factor of 2 or more, a
  // line fits with R^2 > 0.95, and its slope is below zero by more than twice its deviation over samples. Else, of
  // curves of fewer than five states, kTooFewLayers; kNoCollapse if the end keeps 0.7 of the beginning; kIrregular.
  // kExactlyZero: there is no curve.
  Status law = Status::kTooFewLayers;
  Index first = 0, last = 0;  // the states that say so
  double low = 0, high = 0;   // doubly exponential: smallest and largest exponent of these states
  double slope = 0, r2 = 0;   // of a line through them, log10 a layer; if there are five
  double slope_std = 0;       // over samples; 0 for one
};

// Judges the mean curve; `samples` are the curves it is the mean of, and may be empty.
Decay decay_of(std::span<const double> curve, std::span<const std::vector<double>> samples = {});

// "doubly exponential decay: 0.62 to 10^-222.0 in 5 layers (...)", with the fit and the layers.
std::string decay_words(const Decay& decay, std::span<const double> curve);

}  // namespace rankfall
