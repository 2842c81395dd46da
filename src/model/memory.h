#pragma once

#include <cstddef>

#include <rankfall/network.h>

namespace rankfall {

// Throws Error(kUsage) when a forward pass of these sizes cannot fit in this machine's memory: said before it starts
// rather than by the kernel in the middle of it. The estimate counts states, the widest sub-layer's intermediate
// results on every thread, and the weights (drawn ones in full, up to what is kept).
void check_memory(const Network& network, Index n_samples, Index n_tokens, std::size_t scalar_bytes);

// The estimate, in bytes.
double memory_needed(const Network& network, Index n_samples, Index n_tokens, std::size_t scalar_bytes);

}  // namespace rankfall
