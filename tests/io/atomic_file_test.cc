#include "io/atomic_file.h"

#include <array>
#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dcheck.h"
#include "io_test_util.h"

namespace rankfall {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::input_error;
using test::read_all;
using test::TempDir;
using ::testing::HasSubstr;

unsigned mode_of(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); }

TEST(AtomicFile, AppearsOnCommit) {
  const TempDir dir;
  const fs::path path = dir.path() / "out.json";
  {
    AtomicFile file(path);
    file.write("one ");
    file.write("");
    file.write("two");
    EXPECT_FALSE(fs::exists(path));
    EXPECT_LE(dir.n_files(), 1U);  // none where the file system has nameless files
    file.commit();
    EXPECT_EQ(read_all(path), "one two");
    EXPECT_THROW(file.commit(), Bug);
    EXPECT_THROW(file.write("three"), Bug);
  }
  EXPECT_EQ(dir.n_files(), 1U);
}

TEST(AtomicFile, WithoutCommitNothingHappened) {
  const TempDir dir;
  const fs::path path = dir.file("out", "before");
  { AtomicFile(path).write("after"); }
  EXPECT_EQ(read_all(path), "before");
  EXPECT_EQ(dir.n_files(), 1U);
}

TEST(AtomicFile, LeftoversOfOneTargetAreRemoved) {
  const TempDir dir;
  const fs::path path = dir.file("out", "kept");
  dir.file(".out.0123456789abcdef.tmp", "of a killed process");
  const std::array kept{".out.0123456789abcdeg.tmp", ".out.0123.tmp", ".other.0123456789abcdef.tmp",
                        "out.0123456789abcdef.tmp"};
  for (const char* name : kept) dir.file(name, "kept");
  remove_leftovers(path);
  EXPECT_EQ(dir.n_files(), 1 + kept.size());
  EXPECT_FALSE(fs::exists(dir.path() / ".out.0123456789abcdef.tmp"));
  remove_leftovers(dir.path() / "missing" / "out");  // a folder that is not there has none
}

TEST(AtomicFile, ReadersSeeTheOldOrTheNewFile) {
  const TempDir dir;
  const fs::path path = dir.file("out", "before");
  AtomicFile file(path);
  file.write("aft");
  EXPECT_EQ(read_all(path), "before");
  file.write("er");
  file.commit();
  EXPECT_EQ(read_all(path), "after");
}

TEST(AtomicFile, WritesAnywhere) {
  const TempDir dir;
  const fs::path path = dir.path() / "out";
  AtomicFile file(path);
  file.reserve(6);
  file.write_at(3, bytes_of("def"));
  file.write_at(0, bytes_of("abc"));
  file.commit();
  EXPECT_EQ(read_all(path), "abcdef");
}

TEST(AtomicFile, Permissions) {
  const TempDir dir;
  const mode_t before = ::umask(027);
  write_file_atomically(dir.path() / "new", "x");
  ::umask(before);
  EXPECT_EQ(mode_of(dir.path() / "new"), 0640U);
  // What was private stays private.
  const fs::path path = dir.file("old", "x");
  fs::permissions(path, fs::perms(0600));
  write_file_atomically(path, "y");
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_EQ(read_all(path), "y");
}

TEST(AtomicFile, SymbolicLinksStay) {
  const TempDir dir;
  fs::create_directory(dir.path() / "sub");
  const fs::path real = dir.file("sub/real", "before");
  fs::create_symlink("sub/real", dir.path() / "link");
  fs::create_symlink(dir.path() / "link", dir.path() / "link2");
  write_file_atomically(dir.path() / "link2", "after");
  EXPECT_TRUE(fs::is_symlink(dir.path() / "link"));
  EXPECT_TRUE(fs::is_symlink(dir.path() / "link2"));
  EXPECT_EQ(read_all(real), "after");
  fs::create_symlink("sub/new", dir.path() / "dangling");
  write_file_atomically(dir.path() / "dangling", "made");
  EXPECT_TRUE(fs::is_symlink(dir.path() / "dangling"));
  EXPECT_EQ(read_all(dir.path() / "sub/new"), "made");
}

// In folders that a command keeps, a stranger's link does not lead out of them.
TEST(AtomicFile, WithoutLinkWhatItLedToStays) {
  const TempDir dir;
  write_file_atomically(dir.path() / "victim", "precious");
  fs::create_symlink("victim", dir.path() / "history.json");
  write_file_atomically(without_link(dir.path() / "history.json"), "new");
  EXPECT_EQ(read_all(dir.path() / "victim"), "precious");
  EXPECT_EQ(read_all(dir.path() / "history.json"), "new");
  EXPECT_FALSE(fs::is_symlink(dir.path() / "history.json"));
  write_file_atomically(without_link(dir.path() / "history.json"), "newer");  // a file is no link
  EXPECT_EQ(read_all(dir.path() / "history.json"), "newer");
}

TEST(AtomicFile, RelativePathsAndLongNames) {
  const TempDir dir;
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  write_file_atomically("plain", "x");
  fs::create_symlink("plain", "link");
  write_file_atomically("link", "y");
  const std::string name(255, 'n');
  write_file_atomically(name, "z");
  fs::current_path(before);
  EXPECT_EQ(read_all(dir.path() / "plain"), "y");
  EXPECT_EQ(read_all(dir.path() / name), "z");
}

TEST(AtomicFile, FifosAreWrittenDirectly) {
  const TempDir dir;
  const fs::path fifo = dir.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = read_all(fifo); });
  write_file_atomically(fifo, "through the pipe");
  reader.join();
  EXPECT_EQ(received, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(fifo));
  // Nobody reads any more: said after a while, not waited for.
  EXPECT_THAT(input_error([&] { write_file_atomically(fifo, "into nothing"); }), HasSubstr("a pipe that nobody reads"));
  EXPECT_EQ(dir.n_files(), 1U);
  write_file_atomically("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// As with `rankfall ... -o /dev/stdout >> log`: what the log held stays, and the log stays the same file.
TEST(AtomicFile, OwnDescriptorsAreContinued) {
  const TempDir dir;
  const fs::path log = dir.file("log", "before ");
  const int fd = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  write_file_atomically("/dev/fd/" + std::to_string(fd), "after");
  ASSERT_EQ(::write(fd, " end", 4), 4);
  ::close(fd);
  EXPECT_EQ(read_all(log), "before after end");

  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  write_file_atomically("/proc/self/fd/" + std::to_string(ends[1]), "piped");
  std::array<char, 16> buffer{};
  EXPECT_EQ(::read(ends[0], buffer.data(), buffer.size()), 5);
  EXPECT_STREQ(buffer.data(), "piped");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(AtomicFileHostile, EachProblemHasItsMessage) {
  const TempDir dir;
  const auto write_error = [](const fs::path& path) { return input_error([&] { write_file_atomically(path, "x"); }); };
  EXPECT_THAT(write_error("/dev/full"), HasSubstr("the disk is full"));
  EXPECT_THAT(write_error(dir.path() / "none" / "f"), HasSubstr("no such file or folder"));
  EXPECT_THAT(write_error(dir.path()), HasSubstr("directory"));
  EXPECT_THAT(write_error(dir.file("f", "x") / "g"), HasSubstr("is a file, not a folder"));
  EXPECT_THAT(write_error(""), HasSubstr("cannot be"));
  EXPECT_THAT(write_error(dir.path() / std::string(300, 'n')), HasSubstr("too long"));
  fs::create_symlink("loop", dir.path() / "loop");
  EXPECT_THAT(write_error(dir.path() / "loop"), HasSubstr("symbolic links"));
  EXPECT_EQ(dir.n_files(), 2U);  // f and loop; nothing temporary
}

TEST(AtomicFileHostile, ReadOnlyFilesAreNotReplaced) {
  const TempDir dir;
  const fs::path path = dir.file("kept", "before");
  fs::permissions(dir.path(), fs::perms(0777));
  fs::permissions(path, fs::perms(0444));
  const bool root = ::geteuid() == 0;  // whom permissions do not bind: become nobody for a moment
  if (root && ::seteuid(65534) != 0) return;
  const std::string text = input_error([&] { write_file_atomically(path, "after"); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(text, HasSubstr("check the permissions"));
  EXPECT_EQ(read_all(path), "before");
}

}  // namespace
}  // namespace rankfall
