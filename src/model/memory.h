#pragma once

#include <cstddef>
#include <string>

#include <rankfall/network.h>

namespace rankfall {

struct MemoryPlan {
  Index n_samples = 1;
  Index n_tokens = 1;
  std::size_t scalar_bytes = sizeof(float);
  bool whole_attention = false;  // somebody looks at P of a head as a whole, n x n, and decomposes a copy in double
  bool drawn = true;  // weights are made here; otherwise they lie in mapped files, which need no memory of their own
  double extra_bytes = 0;  // what an analysis keeps besides
};

// Throws Error(kUsage) when a forward pass of these sizes cannot fit in this machine's memory: said before it starts
// rather than by the kernel in the middle of it. The estimate counts states, the widest sub-layer's intermediate
// results on every thread, and the weights (drawn ones in full, up to what is kept).
void check_memory(const Network& network, const MemoryPlan& plan);

// Throws that error if `needed` bytes are more than there are: kUsage if the machine has too little, kNumerical if a
// limit of this process does not allow it. `what` needs them, and `advice` is what to do.
void refuse_beyond_memory(double needed, const std::string& what, const std::string& advice);

// The estimate, in bytes.
double memory_needed(const Network& network, const MemoryPlan& plan);

}  // namespace rankfall
