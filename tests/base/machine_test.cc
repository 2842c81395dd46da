#include "base/machine.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rankfall {
namespace {

TEST(Machine, LimitsAreThoseOfThisProcess) {
  const MemoryLimits limits = memory_limits();
  EXPECT_GT(limits.physical, std::uint64_t{64} << 20);
  EXPECT_LE(limits.available, limits.physical);
  EXPECT_LE(limits.allowed(), limits.physical);
  EXPECT_GE(cores_allowed(), 1);
  EXPECT_LE(cores_allowed(), sysconf(_SC_NPROCESSORS_CONF));
}

TEST(Machine, TheTightestLimitCounts) {
  EXPECT_EQ((MemoryLimits{100, 50, {}, {}}.allowed()), 100U);
  EXPECT_EQ((MemoryLimits{100, 50, 80, {}}.allowed()), 80U);
  EXPECT_EQ((MemoryLimits{100, 50, 80, 60}.allowed()), 60U);
  EXPECT_EQ((MemoryLimits{100, 50, 300, 200}.allowed()), 100U);
}

TEST(Machine, TheLimitOnAddressesIsSeen) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit now = before;
  now.rlim_cur = rlim_t{1} << 46;  // more than anybody has, so nothing fails meanwhile
  if (before.rlim_max != RLIM_INFINITY || setrlimit(RLIMIT_AS, &now) != 0) GTEST_SKIP() << "limits cannot be changed";
  const auto seen = memory_limits().address_space;
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(seen, std::uint64_t{1} << 46);
  EXPECT_EQ(memory_limits().address_space.has_value(), before.rlim_cur != RLIM_INFINITY);
}

TEST(Machine, ThePeakOfMemoryIsSeenAndForgotten) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr std::uint64_t kHalf = kBytes / 2;  // readings are exact to some hundred kilobytes, and others allocate, too
  if (!resident_memory() || !reset_peak_memory()) GTEST_SKIP() << "the system does not say";
  const auto before = resident_memory();
  ASSERT_TRUE(before);
  EXPECT_LT(before->peak, before->now + kHalf);
  {
    const std::vector<char> block(kBytes, 'x');
    EXPECT_GT(resident_memory()->now, before->now + kHalf) << block[kBytes - 1];
  }
  EXPECT_GT(resident_memory()->peak, before->now + kHalf);
}

class ControlGroups : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "rankfall-groups-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << '\n';
  }
  std::optional<std::uint64_t> limit() const {
    return group_memory_limit((root_ / "membership").string(), (root_ / "groups").string(), 1000);
  }

 private:
  std::filesystem::path root_;
};

TEST_F(ControlGroups, TheTightestUpToTheRootCounts) {
  EXPECT_EQ(limit(), std::nullopt) << "no such file";
  write("membership", "0::/a/b/c");
  EXPECT_EQ(limit(), std::nullopt);
  write("groups/a/b/c/memory.max", "max");
  EXPECT_EQ(limit(), std::nullopt);
  write("groups/a/b/memory.max", "500");
  EXPECT_EQ(limit(), 500U);
  write("groups/a/memory.max", "400");
  EXPECT_EQ(limit(), 400U);
  write("groups/memory.max", "300");
  EXPECT_EQ(limit(), 300U);
  write("groups/a/b/c/memory.max", "200");
  EXPECT_EQ(limit(), 200U);
  write("membership", "0::/");
  EXPECT_EQ(limit(), 300U);
}

TEST_F(ControlGroups, VersionOneAndOtherLines) {
  write("membership", "12:cpu,cpuacct:/a\n4:memory:/docker/x\n1:name=systemd:/\nnonsense");
  write("groups/memory/docker/x/memory.limit_in_bytes", "700");
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712");  // no limit
  write("groups/a/memory.max", "5");
  EXPECT_EQ(limit(), 700U);
  write("groups/memory/docker/x/memory.limit_in_bytes", "-7");
  EXPECT_EQ(limit(), std::nullopt);
}

}  // namespace
}  // namespace rankfall
