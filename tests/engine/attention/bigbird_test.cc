#include <gtest/gtest.h>

#include "engine/plain_forward.h"
#include "network/seen_keys.h"
#include <rankfall/variants.h>

namespace rankfall::attention_kinds {
namespace {

// BigBird: as many blocks as asked for, none of them twice or seen anyway; the table is the definition.
TEST(AttentionKinds, BlocksOfKeysAreDrawn) {
  for (const bool causal : {false, true}) {
    Mask mask = *attention_named("bigbird:w=10,global=70,random=2").mask;
    mask.causal = causal;
    for (const Index n : {Index{1}, Index{64}, Index{300}, Index{20 * 64 + 5}}) {
      const Index n_blocks = (n + mask.block - 1) / mask.block;
      const SeenKeys table(mask, n);
      for (Index i = 0; i < n_blocks; ++i) {
        Index drawn = 0;
        for (Index j = 0; j < n_blocks; ++j) {
          EXPECT_EQ(table.draws(i, j), plain::draws(mask, i, j, n)) << n << " " << i << " " << j;
          if (plain::draws(mask, i, j, n)) ++drawn;
        }
        // Neither block 0, which is global, nor the block itself, nor later ones; block 1 is partly global.
        const Index candidates = causal ? std::max<Index>(i - 1, 0) : n_blocks - (i > 0 ? 2 : 1);
        EXPECT_EQ(drawn, std::min<Index>(2, candidates)) << n << " " << i;
      }
      for (Index i = 0; i < n; i += 7) {
        for (Index j = 0; j < n; ++j) ASSERT_EQ(table.allows(i, j), plain::allows(mask, i, j, n)) << i << " " << j;
        EXPECT_TRUE(plain::allows(mask, i, i, n));
        if (causal) {
          EXPECT_FALSE(plain::allows(mask, i, i + 1, n + 1));
        }
      }
    }
  }
  const Mask mask = *attention_named("bigbird").mask;
  const Mask other = *attention_named("bigbird:seed=1").mask;
  const auto drawn = [](const Mask& m) {
    std::vector<std::pair<Index, Index>> pairs;
    std::vector<Index> by_key(64);
    for (Index i = 0; i < 64; ++i) {
      for (Index j = 0; j < 64; ++j) {
        if (!plain::draws(m, i, j, 64 * m.block)) continue;
        pairs.emplace_back(i, j);
        ++by_key[static_cast<std::size_t>(j)];
      }
    }
    EXPECT_LT(*std::ranges::max_element(by_key), 12);  // three each on average
    return pairs;
  };
  EXPECT_EQ(drawn(mask).size(), 64U * 3U);
  EXPECT_NE(drawn(mask), drawn(other));
}

// The number of keys by arithmetic is the number by counting.
TEST(AttentionKinds, SeenKeysAreCounted) {
  for (const char* kind :
       {"window:w=3", "window:w=9,global=4", "bigbird:w=2,global=3,random=2,block=4",
        "bigbird:w=9,global=9,random=1,block=8", "bigbird:w=1,global=0,random=3,block=16", "bigbird"}) {
    for (const bool causal : {false, true}) {
      Mask mask = *attention_named(kind).mask;
      mask.causal = causal;
      for (const Index n : {1, 7, 50, 200}) {
        Index counted = 0;
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j < n; ++j) counted += plain::allows(mask, i, j, n) ? 1 : 0;
        }
        EXPECT_DOUBLE_EQ(mean_seen_keys(mask, n), static_cast<double>(counted) / static_cast<double>(n))
            << kind << ' ' << causal << ' ' << n;
      }
    }
  }
  EXPECT_EQ(mean_seen_keys({}, 12), 12);
  EXPECT_EQ(mean_seen_keys({.causal = true}, 3), 2);
}

}  // namespace
}  // namespace rankfall::attention_kinds
