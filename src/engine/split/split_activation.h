#pragma once

#include <rankfall/network.h>
#include <rankfall/split.h>

namespace rankfall {

// x := act(x), entry by entry: mean act(a), residual e (act(a + e) - act(a)) / e, the quotient formed without
// subtracting nearly equal numbers. The result is not re-centred.
void activate(Activation act, SplitState& x);

// Entry by entry, by the product rule; not re-centred.
SplitState product(const SplitState& x, const SplitState& y);

// (act(a + e) - act(a)) / e to rounding for every finite a and e; act'(a) for e = 0.
double divided_difference(Activation act, double a, double e);

}  // namespace rankfall
