#include "io/directory_lock.h"

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

namespace rankfall {
namespace {

TEST(DirectoryLock, IsForOneAtATimeAndLeavesNothingBehind) {
  const auto directory = std::filesystem::temp_directory_path() / ("rankfall_lock_" + std::to_string(getpid()));
  std::filesystem::create_directories(directory);
  std::optional<DirectoryLock> first(directory);
  EXPECT_FALSE(first->held_by_another());
  EXPECT_TRUE(DirectoryLock(directory).held_by_another());
  EXPECT_TRUE(DirectoryLock(directory).held_by_another());  // who did not get it does not take it away
  first.reset();
  EXPECT_FALSE(DirectoryLock(directory).held_by_another());
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove(directory);
  EXPECT_FALSE(DirectoryLock(directory / "missing").held_by_another());
}

}  // namespace
}  // namespace rankfall
