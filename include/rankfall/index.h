#pragma once

#include <cstddef>

namespace rankfall {

// Numbers and positions of tokens, channels, layers, heads: Eigen's index type, without Eigen's headers.
using Index = std::ptrdiff_t;

}  // namespace rankfall
