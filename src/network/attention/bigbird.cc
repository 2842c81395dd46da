#include "network/attention/bigbird.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

#include "network/attention/kind.h"

namespace rankfall {

bool has_lot(const Mask& mask, Index query_block, Index key_block) {
  return (!mask.causal || key_block <= query_block) && std::abs(query_block - key_block) > mask.window / mask.block &&
         (key_block + 1) * mask.block > mask.global;
}

// splitmix64's finaliser of seed and blocks: no two blocks of keys have the same lot.
std::uint64_t lot(const Mask& mask, Index query_block, Index key_block) {
  std::uint64_t z = mask.seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(query_block) * 0xd1342543de82ef95U +
                    static_cast<std::uint64_t>(key_block + 1) * 0xaf251af3b0f025b5U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::vector<std::uint8_t> drawn_blocks(const Mask& mask, Index n_blocks) {
  struct Lot {
    std::uint64_t number;
    Index block;
  };
  std::vector<std::uint8_t> drawn(static_cast<std::size_t>(n_blocks * n_blocks));
  std::vector<Lot> lots;
  for (Index query_block = 0; query_block < n_blocks; ++query_block) {
    lots.clear();
    for (Index block = 0; block < n_blocks; ++block) {
      if (has_lot(mask, query_block, block)) lots.push_back({lot(mask, query_block, block), block});
    }
    const auto n = std::min(static_cast<std::ptrdiff_t>(mask.random), std::ssize(lots));
    std::ranges::nth_element(lots, lots.begin() + n, {}, &Lot::number);
    for (const Lot& one : std::span(lots).first(static_cast<std::size_t>(n))) {
      drawn[static_cast<std::size_t>(query_block * n_blocks + one.block)] = 1;
    }
  }
  return drawn;
}

// A window, global tokens, and random blocks of keys for each block of queries.
const AttentionKind kBigbirdKind = {
    .name = "bigbird",
    .keys = {{{"w", 96, 1},
              {"global", 128},
              {"random", 3, 0, 64},
              {"seed", 0, 0, INT64_MAX},
              {"block", 64, 2, 1024, true}}},
    .make =
        [](const AttentionKind::Values& v) {
          return AttentionChoice{"", SoftmaxWeights{},
                                 Mask{.window = v[0],
                                      .global = v[1],
                                      .random = v[2],
                                      .seed = static_cast<std::uint64_t>(v[3]),
                                      .block = v[4]}};
        },
    .masked = [](const Mask& mask) { return mask.window > 0 && mask.random > 0; },
    // Half of the budget in random blocks, an eighth in global tokens, the rest in the window.
    .within =
        [](const AttentionKind::Budget& budget) {
          Mask mask;
          const auto half = static_cast<std::uint64_t>(budget.products) / 2;
          mask.block = std::clamp<Index>(static_cast<Index>(std::bit_floor(half)), 2, 64);
          mask.random = std::clamp<Index>(budget.products / 2 / mask.block, 1, 64);
          mask.global = std::max<Index>(1, budget.products / 8);
          return std::vector{fmt::format("bigbird:w={},global={},random={},block={}", fitted_window(mask, budget),
                                         mask.global, mask.random, mask.block)};
        },
    .theory = {"O(n (w+g+64r) d)", "O(n d)"},
};

}  // namespace rankfall
