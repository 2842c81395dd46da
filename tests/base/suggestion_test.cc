#include "base/suggestion.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

const std::vector<std::string> kNames = {"measure", "collapse", "paths", "counts", "rank.stable", "rank.effective"};

TEST(Suggestion, FindsSlipsOfEveryKind) {
  EXPECT_EQ(nearest_name("mesure", kNames), "measure");           // left out
  EXPECT_EQ(nearest_name("meassure", kNames), "measure");         // added
  EXPECT_EQ(nearest_name("measune", kNames), "measure");          // changed
  EXPECT_EQ(nearest_name("rank.stabel", kNames), "rank.stable");  // swapped
  EXPECT_EQ(nearest_name("PATHS", kNames), "paths");
  EXPECT_EQ(nearest_name("coll", kNames), "collapse");  // only one begins so
}

TEST(Suggestion, SaysNothingRatherThanNonsense) {
  EXPECT_EQ(nearest_name("frobnicate", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("rank.", kNames), std::nullopt);  // two begin so
  EXPECT_EQ(nearest_name("x", kNames), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(10'000'000, 'a'), kNames), std::nullopt);
  EXPECT_EQ(nearest_name("measure", {}), std::nullopt);
}

TEST(Suggestion, TakesTheNearest) { EXPECT_EQ(nearest_name("rank.stablle", kNames), "rank.stable"); }

TEST(Suggestion, IsTheEndOfAMessage) {
  EXPECT_EQ(did_you_mean("mesure", kNames), "; did you mean 'measure'?");
  EXPECT_EQ(did_you_mean("frobnicate", kNames), "");
}

}  // namespace
}  // namespace rankfall
