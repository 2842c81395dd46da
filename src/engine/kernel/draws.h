#pragma once

#include "base/random.h"
#include "engine/kernel/moments.h"
#include <rankfall/split.h>

namespace rankfall {

// x through a drawn linear map of so many outputs, the Gram matrix of x being x x^T whatever its number of columns:
// each output has the covariance factor x x^T + bias.
SplitState drawn_linear(const SplitState& x, const LinearMoments& moments, Index n_out, RandomKey weights,
                        RandomKey biases);

}  // namespace rankfall
