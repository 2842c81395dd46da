#pragma once

#include <optional>
#include <span>

#include "result/line_fit.h"

namespace rankfall {

// The line of log value over log tokens through the largest half of the lengths, rounded up, and at least three: its
// slope is the exponent of growth. Small lengths are left out because terms of lower order count there. Values that are
// absent or not positive are left out, too; nothing where fewer than three remain. Requires ascending tokens >= 1, a
// value for each.
std::optional<LineFit> growth_of(std::span<const Index> tokens, std::span<const std::optional<double>> values);

}  // namespace rankfall
