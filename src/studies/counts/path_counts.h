#pragma once

#include <vector>

#include <boost/multiprecision/cpp_int.hpp>

#include <rankfall/decompose.h>

namespace rankfall {

using BigInt = boost::multiprecision::cpp_int;

// C(n_layers, k) n_heads^k for k = 0 .. n_layers.
std::vector<BigInt> counts_by_length(Index n_layers, Index n_heads);

// a / b, right to rounding however large they are.
double ratio(const BigInt& a, const BigInt& b);

// How many paths lead from each origin to a state, by length. Origins are by block; a block's biases are one origin,
// and none if all of them are zero.
struct OriginCounts {
  Origin origin;
  std::vector<BigInt> by_length;
};
using StateCounts = std::vector<OriginCounts>;

// For hidden states 0..L, and last for the output, final norm included.
std::vector<StateCounts> path_counts(const Network& network, const WeightSource& weights);

// The paths from one origin, or from all blocks together if it names none, of one length or of all.
BigInt count_of(const StateCounts& counts, const Origin& origin, std::optional<Index> length);
BigInt count_of(const StateCounts& counts, std::optional<Index> length);

}  // namespace rankfall
