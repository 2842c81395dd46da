#include "studies/model_grid.h"

#include <filesystem>
#include <system_error>

namespace rankfall {

ModelGrid models_of_grids(std::span<const std::string> texts) {
  ModelGrid out;
  for (const std::string& text : texts) {
    std::error_code error;
    if (text.find('{') == std::string::npos || std::filesystem::exists(text, error)) {
      out.models.push_back(text);
      continue;
    }
    const Grid grid = parse_grid(text);
    check_grid_size(grid, kMostModels);
    for (std::uint64_t i = 0; i < grid.n_points; ++i) out.models.push_back(grid.point(i).text);
    if (texts.size() == 1) out.grid = grid;
  }
  return out;
}

}  // namespace rankfall
