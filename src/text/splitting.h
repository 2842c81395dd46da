#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rankfall {

// What becomes of the matches at which a text is cut. kContiguous joins neighbouring matches.
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

// "MergedWithNext" and the like, as tokenizer.json writes them.
std::optional<SplitBehavior> split_behavior(std::string_view name);

using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;  // [first, end)

// The parts of a text of n bytes, in order and without empty ones. `matches` are in order and do not overlap. `invert`:
// what lies between them counts as the matches.
Ranges split_ranges(std::size_t n, const Ranges& matches, SplitBehavior behavior, bool invert);

}  // namespace rankfall
