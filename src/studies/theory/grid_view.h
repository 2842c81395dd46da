#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/grid.h"
#include "view/view.h"
#include <rankfall/result.h>

namespace rankfall {

// The grid whose points are the models of a result, as its manifest has it.
std::optional<Grid> grid_of(const Result& result);

// Every point in a line, by the values of its axes, and where along the first axis collapse begins.
View grid_view(const Result& result, const Grid& grid, std::span<const std::string> metrics);

}  // namespace rankfall
