#pragma once

#include <cstdint>
#include <vector>

#include <rankfall/network.h>

namespace rankfall {

// Random blocks of keys (Mask::random). For each block of queries every block of keys that it does not see anyway has a
// number, its lot; the `random` lowest lots are seen.

// Whether a block of keys takes part: it is neither later (of a causal mask) nor wholly global nor within the window,
// which counts in whole blocks.
bool has_lot(const Mask& mask, Index query_block, Index key_block);
std::uint64_t lot(const Mask& mask, Index query_block, Index key_block);

// Entry query_block * n_blocks + key_block is 1 where the block of keys is drawn.
std::vector<std::uint8_t> drawn_blocks(const Mask& mask, Index n_blocks);

}  // namespace rankfall
