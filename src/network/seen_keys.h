#pragma once

#include <cstdint>
#include <vector>

#include <rankfall/network.h>

namespace rankfall {

// Which keys each of n tokens sees, with the drawn blocks in a table.
class SeenKeys {
 public:
  SeenKeys() = default;
  SeenKeys(const Mask& mask, Index n_tokens);

  bool allows(Index query, Index key) const {
    if (mask_.causal && key > query) return false;
    const Index distance = query < key ? key - query : query - key;
    return mask_.window == 0 || distance <= mask_.window || query < mask_.global || key < mask_.global ||
           draws(query >> shift_, key >> shift_);
  }
  bool draws(Index query_block, Index key_block) const {
    return n_blocks_ > 0 && drawn_[static_cast<std::size_t>(query_block * n_blocks_ + key_block)] != 0;
  }

 private:
  Mask mask_;
  int shift_ = 0;       // tokens to blocks
  Index n_blocks_ = 0;  // 0: none are drawn
  std::vector<std::uint8_t> drawn_;
};

// Mean over the queries of the number of keys that each sees: the products of a query and a key that attention needs
// per token.  Cost: O(n_tokens) with random = 0, else O(n_tokens^2 / block).
double mean_seen_keys(const Mask& mask, Index n_tokens);

}  // namespace rankfall
