#pragma once

#include <optional>
#include <span>
#include <string>

#include <rankfall/index.h>
#include <rankfall/status.h>

// How a curve of log10 of a residual falls with depth (math.md 2). curve[l] is the value of hidden state l; a curve
// ends where it is not finite.

namespace rankfall {

// (c_l - c_{l-1}) / (c_{l-1} - c_{l-2}): 3 for pure attention, 1 for geometric decay. Nothing before l = 2, and where
// the step before is below 0.05, which says nothing.
std::optional<double> local_exponent(std::span<const double> curve, Index l);

struct Decay {
  enum class Kind {
    kDoublyExponential,  // the last three local exponents exceed 2, and the curve falls
    kExponential,        // a falling line fits the last half of the curve with R^2 > 0.95
    kNone,
    kTooShort,  // neither can be told
  };
  Kind kind = Kind::kTooShort;
  Index first = 0, last = 0;  // the states that say so
  double low = 0, high = 0;   // doubly exponential: smallest and largest exponent of these states
  double slope = 0, r2 = 0;   // exponential: of the line, log10 a layer
};

Decay decay_of(std::span<const double> curve);

// Its kind as a status. A curve of no law is kNoCollapse if its end keeps at least 0.7 of its beginning, else
// kIrregular.
Status decay_status(const Decay& decay, std::span<const double> curve);

// "doubly exponential: ...", "exponential: ...", "none: ..." with the fit and the layers.
std::string decay_words(const Decay& decay, std::span<const double> curve);

// "0.0176", or "10^-20.3" below 1e-4.
std::string power_of_ten(double log10_value);

}  // namespace rankfall
