#pragma once

#include <optional>
#include <vector>

#include <rankfall/matrix.h>

namespace rankfall {

// How the distance between the tracks falls: not at all for a while, then from nine tenths of its start to a hundredth.
struct Fall {
  std::optional<Index> begins, ends;  // the first step below 0.9, and below 0.01, of the start
  // Factor per step, geometric mean from the step before `begins` to `ends`.
  std::optional<double> rate;
};
// Of distances by step, the first of which is not zero.
Fall fall_of(const std::vector<double>& distances);

// Turns about the centre that the first track makes, of (steps - 1) / 1000 that it should.
double turns_of(const std::vector<Matrix<double>>& states);

}  // namespace rankfall
