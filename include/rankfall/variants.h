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
  std::string name = {};  // as a command line gives it
  std::optional<AttentionWeights> weights = {};
  std::optional<Mask> mask = {};  // its causality is the network's
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

// Parts of a network that can be removed, independently of each other. Removing `mlp` removes the whole MLP sub-block
// with its skip and norm. `norm` means the norms inside blocks; embedding and final norms stay.
struct Parts {
  bool attn_skip = false;
  bool mlp = false;
  bool mlp_skip = false;
  bool norm = false;

  bool operator==(const Parts&) const = default;
};

// A pure rewrite of the list of sub-layers.
RANKFALL_API Network without(Network network, const Parts& parts);

// The parts that a network has in some block.
RANKFALL_API Parts parts_of(const Network& network);

// The four networks of the paper's Figure 2.
enum class PaperVariant { kSan, kSanMlp, kSanSkip, kFull };

// What the published code really ran, which is not what its labels say: its "SAN + MLP" keeps the MLP's skip, and
// ALBERT's removed MLP leaves activation, skip and norm behind. Known for bert, albert and xlnet; Error(kUsage)
// otherwise.
RANKFALL_API Network as_published(Network network, PaperVariant variant);

// The same blocks `times` times over, with the same weights.
RANKFALL_API Network repeat(const Network& network, Index times);

// The blocks in their order, over and over, until there are n_blocks (>= 1); fewer than the network has: its first
// ones. The same weights each time.
RANKFALL_API Network with_depth(const Network& network, Index n_blocks);

// A named rewrite, as a command line gives it.
struct Variant {
  std::string name;
  Parts removed;
  bool as_published = false;  // then `paper` says which, and `removed` is not used
  PaperVariant paper = PaperVariant::kFull;
  std::optional<AttentionChoice> attention = std::nullopt;
};

RANKFALL_API Network apply(const Variant& variant, Network network);

// "attn_skip,mlp" -> the variant `-attn_skip,-mlp`.  Error(kUsage) on an unknown part.
RANKFALL_API Variant variant_without(std::string_view parts);
// full, san, san+mlp, san+skip, no-norm.  Error(kUsage) on any other name.
RANKFALL_API Variant variant_named(std::string_view name);
// Each variant with each kind of attention, named `san linformer:k=64`; those with `full` keep their names.
// Error(kUsage) if two kinds are the same.
RANKFALL_API std::vector<Variant> with_attentions(const std::vector<Variant>& variants,
                                                  const std::vector<AttentionChoice>& choices);
// full, then without each of these parts alone, then without all of them.
RANKFALL_API std::vector<Variant> ablations(const Parts& parts);
// full, san, san+mlp, san+skip as labelled, or as the published code ran them.
RANKFALL_API std::vector<Variant> paper_variants(bool as_published);

}  // namespace rankfall
