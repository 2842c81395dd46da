#pragma once

#include <optional>
#include <vector>

#include "render/page/page.h"
#include <rankfall/report.h>

namespace rankfall {

// The first screen of a page: how the variants of one model collapse, and three numbers that say it. Made of the exact
// residuals where there are any, otherwise of measured ones; absent where there are neither.
std::optional<Headline> headline_of(const std::vector<NamedResult>& results);

}  // namespace rankfall
