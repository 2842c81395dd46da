#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/network.h>

namespace rankfall {

// Another kind of attention in place of a network's own (docs/math.md): other weights, or fewer keys.
struct AttentionChoice {
  std::string name;  // as a command line gives it
  std::optional<AttentionWeights> weights;
  std::optional<Mask> mask;  // its causality is the network's
};

// `text` is KIND or KIND:KEY=VALUE,...:
//   full                                    the network's own
//   gaussian                                GaussianWeights
//   linformer:k=64,pooled=0,seed=0          LinformerWeights
//   nystrom:m=64                            NystromWeights
//   performer:m=256,seed=0                  FeatureWeights
//   window:w=64,global=0                    keys within w tokens, and the first `global` ones
//   bigbird:w=96,global=128,random=3,seed=0,block=64
//                                           the same, and random blocks of 64 keys for each 64 queries
// with the values that count where none are given.  Error(kUsage) on anything else.
RANKFALL_API AttentionChoice attention_named(std::string_view text);

// The kinds as in `attention_named`, with their keys, for help texts.
RANKFALL_API std::vector<std::string> attention_names();

// The network with that attention in every block.  Error(kUsage) where the mathematics does not allow it: products of
// thin matrices have no place for a mask (but for a causal one in random features) or for relative positions.
RANKFALL_API Network with_attention(Network network, const AttentionChoice& choice);

}  // namespace rankfall
