#pragma once

#include <cstddef>
#include <string_view>

namespace rankfall {

// Letters changed, added, left out, or swapped with their neighbour that lead from a to b (optimal string alignment);
// `limit` if they are as many or more.  Cost: O(|a| |b|), less where the limit is passed early.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

}  // namespace rankfall
