#pragma once

#include <functional>
#include <vector>

#include "studies/paths/path_views.h"
#include <rankfall/decompose.h>

namespace rankfall {

// Rows of the sums over all paths of each length and origin, for every state, as paths.h says. Samples are worked on in
// groups that fit into memory.
std::vector<Row> path_sum_rows(const PathsJob& job, const Progress& progress);

// How many samples, or paths, may be in memory at once if each takes `bytes`: at least one.
Index at_once(double bytes);

// What the sums of one sample take.
double path_sum_bytes(const Network& network, Index n_tokens, bool by_block);

// Calls body(first, count) for groups of samples of which each takes `bytes`.
void for_groups(std::size_t n_samples, double bytes, const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace rankfall
