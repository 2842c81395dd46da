#pragma once

#include <cstdint>
#include <vector>

#include <rankfall/network.h>

namespace rankfall {

// Mask::allows of n tokens, with the drawn blocks in a table.
class SeenKeys {
 public:
  SeenKeys() = default;
  SeenKeys(const Mask& mask, Index n_tokens);

  bool allows(Index query, Index key) const {
    return mask_.allows_place(query, key) ||
           (n_blocks_ > 0 && mask_.may_follow(query, key) && draws(query / Mask::kBlock, key / Mask::kBlock));
  }
  bool draws(Index query_block, Index key_block) const {
    return n_blocks_ > 0 && drawn_[static_cast<std::size_t>(query_block * n_blocks_ + key_block)] != 0;
  }

 private:
  Mask mask_;
  Index n_blocks_ = 0;  // 0: none are drawn
  std::vector<std::uint8_t> drawn_;
};

}  // namespace rankfall
