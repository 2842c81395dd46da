#pragma once

#include <rankfall/matrix.h>
#include <rankfall/network.h>

namespace rankfall {

// x := act(x), entry by entry.
template <class T>
void activate(Activation act, MutableMatrixRef<T> x);

}  // namespace rankfall
