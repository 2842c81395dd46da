#include "text/splitting.h"

#include <algorithm>

namespace rankfall {
namespace {

struct Part {
  std::size_t first, end;
  bool match;
};

std::vector<Part> parts_of(std::size_t n, const Ranges& matches, bool invert) {
  std::vector<Part> parts;
  std::size_t last = 0;
  for (const auto& [first, end] : matches) {
    if (first > last) parts.push_back({last, first, invert});
    parts.push_back({first, end, !invert});
    last = end;
  }
  if (last < n) parts.push_back({last, n, invert});
  return parts;
}

}  // namespace

std::optional<SplitBehavior> split_behavior(std::string_view name) {
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return std::nullopt;
}

Ranges split_ranges(std::size_t n, const Ranges& matches, SplitBehavior behavior, bool invert) {
  std::vector<Part> parts = parts_of(n, matches, invert);
  const bool backwards = behavior == SplitBehavior::kMergedWithNext;
  if (backwards) std::ranges::reverse(parts);
  Ranges ranges;
  bool previous = false;
  for (const Part& part : parts) {
    const bool join = behavior == SplitBehavior::kContiguous                        ? part.match == previous
                      : behavior == SplitBehavior::kMergedWithPrevious || backwards ? part.match && !previous
                                                                                    : false;
    if (join && !ranges.empty()) {
      (backwards ? ranges.back().first : ranges.back().second) = backwards ? part.first : part.end;
    } else if (behavior != SplitBehavior::kRemoved || !part.match) {
      ranges.emplace_back(part.first, part.end);
    }
    previous = part.match;
  }
  if (backwards) std::ranges::reverse(ranges);
  std::erase_if(ranges, [](const auto& range) { return range.first == range.second; });
  return ranges;
}

}  // namespace rankfall
