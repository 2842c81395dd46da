#include "base/machine.h"

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

}  // namespace
}  // namespace rankfall
