#include "base/keyed_hash.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(KeyedHash, DependsOnEveryByteAndOnTheLength) {
  std::set<std::uint64_t> seen;
  for (std::size_t n = 0; n <= 40; ++n) {
    for (std::size_t i = 0; i <= n; ++i) {
      std::string text(n, 'a');
      if (i < n) text[i] = 'b';
      EXPECT_TRUE(seen.insert(keyed_hash(text)).second) << n << ' ' << i;
      EXPECT_EQ(keyed_hash(text), keyed_hash(std::string(text)));
    }
  }
  std::set<std::uint64_t> of_numbers;
  for (std::uint64_t i = 0; i < 64; ++i) of_numbers.insert(keyed_hash(std::uint64_t{1} << i));
  EXPECT_EQ(of_numbers.size(), 64U);
}

}  // namespace
}  // namespace rankfall
