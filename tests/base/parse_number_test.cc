#include "base/parse_number.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(ParseNumber, TakesTheWholeText) {
  EXPECT_EQ(parse_number<int>("12"), 12);
  EXPECT_EQ(parse_number<std::int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_number<double>("-1.5e3"), -1500);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x"}) {
    EXPECT_FALSE(parse_number<int>(text)) << text;
    EXPECT_FALSE(parse_number<double>(text)) << text;
  }
  EXPECT_FALSE(parse_number<int>("1.5"));
  EXPECT_FALSE(parse_number<int>("2147483648"));
  EXPECT_FALSE(parse_number<std::uint64_t>("-1"));
}

}  // namespace
}  // namespace rankfall
