#pragma once

#include <cstdint>

#include "engine/kernel/gram.h"
#include <rankfall/network.h>
#include <rankfall/sample.h>

namespace rankfall {

// E P V P^T, V the Gram matrix of the values, as a mean over drawn heads: queries and keys are normal with the
// covariance that K and the weights' variance give them, positions, masks, norms, caps and kinds of attention act on
// them as in the network, in the arithmetic of Split, and P acts on the factor of V: rows of P need not sum to one.
struct SampledAttention {
  const Network& network;
  const Attention& attention;
  Index index;  // of the sub-layer
  const Sample& sample;
  const Tokens& tokens;
  std::uint64_t seed;
  Index draws;  // heads, at least

  Gram mixing(const Gram& k) const;
};

}  // namespace rankfall
