#pragma once

#include <span>
#include <string>

#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/variants.h>

namespace rankfall {

// The sizes of a study and what it keeps beside the states of a forward pass.
struct MemoryPlan {
  Index n_samples = 1;
  Index n_tokens = 1;  // of the longest sample
  Precision precision = Precision::kF64;
  bool whole_attention = false;  // an observer gets P of a head as a whole, n x n, and decomposes a copy in double
  bool drawn = true;  // weights are made here; otherwise they lie in mapped files, which need no memory of their own
  // What stays: matrices of doubles, tokens x tokens and tokens x d_model, and bytes of other things.
  double kept_attention = 0;
  double kept_states = 0;
  double kept_bytes = 0;
};

// The estimate, in bytes: states, the widest sub-layer's intermediate results on every thread, weights (drawn ones in
// full, up to what a source of them keeps), and what the study keeps.
double memory_needed(const Network& network, const MemoryPlan& plan);

// Throws Error when a study cannot fit into memory, before it starts: kUsage if the machine has too little, kNumerical
// if a limit of this process does not allow it. Of a model: with any of the variants; plan.drawn is the model's.
void check_memory(const Network& network, const MemoryPlan& plan);
void check_memory(const Model& model, std::span<const Variant> variants, MemoryPlan plan);
// The same for bytes that are counted elsewhere: `what` needs them, `advice` is what to do.
void check_memory(double needed, const std::string& what, const std::string& advice);

}  // namespace rankfall
