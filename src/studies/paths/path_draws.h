#pragma once

#include <vector>

#include <rankfall/decompose.h>

namespace rankfall {

// A random path of a sample.
struct DrawnPath {
  std::size_t sample = 0;
  Path path;
};

// The lengths that paths from the embedding can have: all from 0 to L, or fewer where skips are missing; none where an
// MLP without a skip lies on the way.
std::vector<Index> possible_lengths(const Network& network);

// `count` independent paths from the embedding, uniform among those of the length, each with a sample drawn uniformly.
// Depends on (seed, length, number of the path) only.
std::vector<DrawnPath> draw_paths(const Network& network, std::uint64_t seed, Index length, Index count,
                                  std::size_t n_samples);

// The value below which a share q of the values lies, linear between neighbours (numpy's default). Requires values.
double quantile(std::vector<double> values, double q);

}  // namespace rankfall
