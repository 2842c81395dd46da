#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/grid.h"

namespace rankfall {

// Models as people give them: a text with braces stands for a model of each point of its grid, unless a file or folder
// has exactly this name.
struct ModelGrid {
  std::vector<std::string> models;
  std::optional<Grid> grid;  // if the only text given is one
};

inline constexpr std::uint64_t kMostModels = 20'000;

// Throws Error(kUsage) on a grid of more than kMostModels, before anything of that size is stored.
ModelGrid models_of_grids(std::span<const std::string> texts);

}  // namespace rankfall
