#pragma once

#include <rankfall/matrix.h>
#include <rankfall/network.h>

namespace rankfall {

// In place of the root of 2/pi in kGeluBloom and kGeluFast.
inline constexpr double kBloomRoot = 0.79788456;
inline constexpr double kFastRoot = 0.7978845608;

// x := act(x), entry by entry.
template <class T>
void activate(Activation act, MutableMatrixRef<T> x);

}  // namespace rankfall
