#include "network/seen_keys.h"

#include <algorithm>
#include <bit>

#include "network/attention/bigbird.h"

namespace rankfall {
namespace {

// Length of [begin, end).
Index length_of(Index begin, Index end) { return std::max<Index>(0, end - begin); }

}  // namespace

SeenKeys::SeenKeys(const Mask& mask, Index n_tokens) : mask_(mask) {
  if (mask.window == 0 || mask.random == 0) return;
  shift_ = std::countr_zero(static_cast<std::uint64_t>(mask.block));
  n_blocks_ = (n_tokens + mask.block - 1) / mask.block;
  drawn_ = drawn_blocks(mask, n_blocks_);
}

double mean_seen_keys(const Mask& mask, Index n_tokens) {
  if (n_tokens == 0) return 0;
  const SeenKeys keys(mask, n_tokens);
  double sum = 0;
  for (Index i = 0; i < n_tokens; ++i) {
    const Index end = mask.causal ? i + 1 : n_tokens;  // behind the last key that may be seen
    if (mask.window == 0 || i < mask.global) {
      sum += static_cast<double>(end);
      continue;
    }
    const Index global = std::min(mask.global, end);
    const Index near = std::max(global, i - mask.window);
    const Index behind_near = std::min(end, i + mask.window + 1);
    Index n = global + length_of(near, behind_near);
    if (mask.random > 0) {
      for (Index block = 0; block * mask.block < end; ++block) {
        if (!keys.draws(i / mask.block, block)) continue;
        const Index first = std::max(global, block * mask.block);
        const Index last = std::min(end, (block + 1) * mask.block);
        n += length_of(first, last) - length_of(std::max(first, near), std::min(last, behind_near));
      }
    }
    sum += static_cast<double>(n);
  }
  return sum / static_cast<double>(n_tokens);
}

}  // namespace rankfall
