#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>

namespace rankfall {

// The name that somebody who wrote `word` probably meant: the one that the fewest letters changed, added, left out or
// swapped lead to, in either case of letters, or the only one that begins so. Nothing if more than a third of the
// letters would have to change.
RANKFALL_API std::optional<std::string> nearest_name(std::string_view word, const std::vector<std::string>& known);

// Letters changed, added, left out, or swapped with their neighbour that lead from a to b (optimal string alignment);
// `limit` if they are as many or more.  Cost: O(|a| |b|), less where the limit is passed early.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

// The end of a message about an unknown word: "; did you mean 'measure'?", or nothing.
RANKFALL_API std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace rankfall
