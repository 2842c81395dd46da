#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/index.h>

namespace rankfall {

// Where a path begins: the state that enters block 0, an MLP's output in the forward pass (its bias included), or
// anything else that is added: b_V W_O + b_O, the shifts of norms, and a pre-norm's shift times W_V W_O.
struct Origin {
  enum class Kind { kEmbedding, kMlp, kBias, kAll };  // kAll, in result rows: the sum over all of them
  Kind kind = Kind::kEmbedding;
  // The block it arises in, n_blocks for the final norm; absent: the embedding, or all blocks together.
  std::optional<Index> block;

  bool operator==(const Origin&) const = default;
};
RANKFALL_API std::string to_string(const Origin& origin);  // "embedding", "mlp", "bias.3", "all"
// The inverse; nothing if the text is none, or names a block that no network has (10 million or more).
RANKFALL_API std::optional<Origin> origin_from(std::string_view text);

struct Head {
  Index block = 0, head = 0;

  bool operator==(const Head&) const = default;
};
// Blocks ascend; blocks that are not named are passed by the skip connection.
using Heads = std::vector<Head>;
RANKFALL_API std::string to_string(const Heads& heads);  // "L2H5 > L3H0 > L7H11"; "skips only" for none
// The inverse, with the same limit of blocks and heads.
RANKFALL_API std::optional<Heads> heads_from(std::string_view text);

struct Path {
  Origin origin;
  Heads heads;

  bool operator==(const Path&) const = default;
};
RANKFALL_API std::string to_string(const Path& path);  // of its heads

}  // namespace rankfall
