#include "base/program_output.h"

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(ProgramOutput, HasTextAndExitCode) {
  const ProgramOutput good = program_output({"/bin/sh", "-c", "printf 'a b'; exit 3"}, true);
  EXPECT_EQ(good.not_started, 0);
  EXPECT_EQ(good.text, "a b");
  EXPECT_EQ(good.exit_code, 3);
  EXPECT_EQ(program_output({"/bin/sh", "-c", "kill -KILL $$"}, true).exit_code, 128 + SIGKILL);
}

TEST(ProgramOutput, MayBeLongerThanAPipe) {
  const ProgramOutput much = program_output({"/bin/sh", "-c", "head -c 300000 /dev/zero"}, true);
  EXPECT_EQ(much.text.size(), 300000U);
  EXPECT_EQ(much.exit_code, 0);
}

TEST(ProgramOutput, SaysWhyAProgramDidNotStart) {
  EXPECT_EQ(program_output({"/nowhere/program"}, true).not_started, ENOENT);
}

}  // namespace
}  // namespace rankfall
