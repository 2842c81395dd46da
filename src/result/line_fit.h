#pragma once

#include <span>

#include <rankfall/index.h>

namespace rankfall {

// y = intercept + slope x by least squares.
struct LineFit {
  double intercept = 0, slope = 0;
  double slope_error = 0;  // standard error; 0 for two points
  double r2 = 0;           // 1 where all points are on it, 0 where y does not vary
  Index n = 0;             // points
};

// Of as many x as y. All zero but n for fewer than two different x.
LineFit fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace rankfall
