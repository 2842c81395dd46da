#include "result/manifest.h"

#include <limits>

#include <gtest/gtest.h>

#include <rankfall/version.h>

namespace rankfall {
namespace {

TEST(Manifest, BaseSaysVersionAndProcessor) {
  const Manifest manifest = base_manifest();
  ASSERT_EQ(manifest.entries.size(), 2U);
  EXPECT_EQ(manifest.entries[0].first, "rankfall");
  EXPECT_EQ(manifest.entries[0].second, ManifestValue(RANKFALL_VERSION));
  EXPECT_EQ(manifest.entries[1].first, "cpu");
  EXPECT_NE(manifest.entries[1].second, ManifestValue(""));
}

TEST(Manifest, KeepsTypesAndOrder) {
  Manifest manifest;
  add(manifest, "precision", "f32");
  add(manifest, "threads", 2);
  add(manifest, "eps", 0.5);
  add(manifest, "minimiser", false);
  add(manifest, "models", std::vector<std::string>{"a", "b"});
  const std::vector<std::pair<std::string, ManifestValue>> expected = {{"precision", "f32"},
                                                                       {"threads", std::int64_t{2}},
                                                                       {"eps", 0.5},
                                                                       {"minimiser", false},
                                                                       {"models", std::vector<std::string>{"a", "b"}}};
  EXPECT_EQ(manifest.entries, expected);
}

TEST(Manifest, AddReplacesTheSameKey) {
  Manifest manifest;
  add(manifest, "threads", 1);
  add(manifest, "seed", 2);
  add(manifest, "threads", 8);
  ASSERT_EQ(manifest.entries.size(), 2U);
  EXPECT_EQ(*find(manifest, "threads"), ManifestValue(std::int64_t{8}));
  EXPECT_EQ(find(manifest, "blas"), nullptr);
}

TEST(Manifest, SeedsAboveTheSignedRangeBecomeText) {
  Manifest manifest;
  add(manifest, "seed", std::uint64_t{5});
  add(manifest, "large", std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(*find(manifest, "seed"), ManifestValue(std::int64_t{5}));
  EXPECT_EQ(*find(manifest, "large"), ManifestValue("18446744073709551615"));
}

}  // namespace
}  // namespace rankfall
