#pragma once

#include "engine/layer_loader.h"
#include "engine/split/split.h"
#include <rankfall/sample.h>
#include <rankfall/split.h>

namespace rankfall {

// Attention on mean and residual apart, o included; not re-centred.
//
// For each head the logits, less what is constant along a row, are z_ij = r_j + E_ij with r the logits of a reference
// query and E_ij formed from the terms that make up the difference, each with its own scale. With q = softmax(r) the
// head's output is 1 (v + q^T V) + D V, where D = P - 1 q^T is formed from E and has E's scale, not P's rounding.
SplitState split_attention(const Attention& attention, const LoadedLayer<double>& layer, const Sample& sample,
                           Jitter& jitter, const SplitState& x);

}  // namespace rankfall
