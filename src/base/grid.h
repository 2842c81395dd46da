#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>

namespace rankfall {

// The values between one pair of braces, all different.
struct GridAxis {
  std::string key;  // KEY where KEY= stands before the brace, otherwise the number of the pair, from 1
  std::vector<std::string> values;
};

struct GridPoint {
  std::string text;                 // the grid's text with one value for each pair of braces
  std::vector<std::string> values;  // in the order of the axes
};

// One text for many: "san:layers={4,8},heads=2,dim={128..1024*2}" is eight specifications.
//
//   {a,b,c}   values or words
//   {a..b/k}  k numbers in even steps from a to b, both included
//   {a..b*r}  a, a r, a r^2, ... up to b, and b itself when it is one of these but for rounding
//
// Only the values of the axes are stored; points are made one at a time. A text without braces is a grid of one point.
//
// There is no escape for braces. Where the text may be the path of something, the caller looks first whether something
// of exactly this name exists, and parses a grid only if nothing does: `run{1,2}` is then the directory of that name.
struct Grid {
  std::string text;
  std::vector<GridAxis> axes;
  std::vector<std::string> between;  // what stands before, between and behind the axes: one more than there are
  std::uint64_t n_points = 1;

  // Requires i < n_points. The last axis changes fastest.
  RANKFALL_API GridPoint point(std::uint64_t i) const;
};

// Throws Error(kUsage) for anything but the three forms, values that are not different, numbers that are not finite,
// and more than 64 KiB of text, 16 axes, 10,000 values of one axis or 2^64 - 1 points. Sizes are compared before
// anything of that size is stored.
RANKFALL_API Grid parse_grid(std::string_view text);

// Throws Error(kUsage), with the number of points and `most`, for a grid of more than `most` points.
RANKFALL_API void check_grid_size(const Grid& grid, std::uint64_t most);

}  // namespace rankfall
