#include "model/seen_keys.h"

#include <algorithm>
#include <span>

namespace rankfall {

SeenKeys::SeenKeys(const Mask& mask, Index n_tokens) : mask_(mask) {
  if (mask.window == 0 || mask.random == 0) return;
  n_blocks_ = (n_tokens + Mask::kBlock - 1) / Mask::kBlock;
  drawn_.resize(static_cast<std::size_t>(n_blocks_ * n_blocks_));
  struct Lot {
    std::uint64_t number;
    Index block;
  };
  std::vector<Lot> lots;
  for (Index query_block = 0; query_block < n_blocks_; ++query_block) {
    lots.clear();
    for (Index block = 0; block < n_blocks_; ++block) {
      if (mask.may_draw(query_block, block)) lots.push_back({mask.lot(query_block, block), block});
    }
    const auto n = std::min(static_cast<std::ptrdiff_t>(mask.random), std::ssize(lots));
    std::ranges::nth_element(lots, lots.begin() + n, {}, &Lot::number);
    for (const Lot& lot : std::span(lots).first(static_cast<std::size_t>(n))) {
      drawn_[static_cast<std::size_t>(query_block * n_blocks_ + lot.block)] = 1;
    }
  }
}

}  // namespace rankfall
