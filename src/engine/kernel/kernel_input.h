#pragma once

#include "engine/kernel/gram.h"
#include <rankfall/network.h>
#include <rankfall/sample.h>

namespace rankfall {

// The expected Gram matrix of what enters the stages of an input map: of drawn tables, tokens are alike as far as they
// have the same word, the same position, the same segment. Of a given state it is that state's own.
Gram source_gram(const Network& network, const Sample& sample, const Tokens& tokens);

// Means over channels of each token; empty where all are zero.
RowVector<double> channel_means_of(const HiddenState& state, const Tokens& tokens);

}  // namespace rankfall
