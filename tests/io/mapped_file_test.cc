#include "io/mapped_file.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/file_error.h"
#include "io_test_util.h"
#include <rankfall/process.h>

namespace rankfall {
namespace {

using test::input_error;
using test::TempDir;
using ::testing::HasSubstr;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(MappedFile, ShowsTheBytes) {
  const TempDir dir;
  for (const std::size_t n : {1U, 7U, 4095U, 4096U, 4097U, 20000U}) {
    std::string content(n, 'x');
    content.back() = '\0';
    const auto path = dir.file("f", content);
    const auto file = MappedFile::open(path);
    EXPECT_EQ(file->path(), path);
    EXPECT_EQ(text_of(file->bytes()), content);
  }
}

TEST(MappedFile, ReleasedBytesAreReadAgain) {
  const TempDir dir;
  std::string content;
  for (int i = 0; i < 5000; ++i) content += std::to_string(i) + ' ';
  const auto file = MappedFile::open(dir.file("f", content));
  const auto bytes = file->bytes();
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{5000}, bytes.size()}) {
    file->release(bytes.subspan(first));
    file->release(bytes.first(first));
    EXPECT_EQ(text_of(bytes), content);
  }
  file->release({});
  const std::byte elsewhere[3] = {};
  file->release(elsewhere);
  EXPECT_EQ(text_of(bytes), content);
}

TEST(MappedFile, WhatIsCutOffReadsAsZerosAndIsSaid) {
  if (test::kSanitizerHasSigbus) GTEST_SKIP() << "the sanitizer has the signal";
  guard_mapped_files();
  const TempDir dir;
  const auto path = dir.file("f", std::string(5 * 4096, 'x'));
  const auto other = dir.file("g", std::string(5 * 4096, 'y'));
  const std::string expected = path.string() + ": changed while it was being read: it had 20480 bytes and has 4106 now";
  for (const bool asked : {false, true}) {
    std::filesystem::resize_file(path, 5 * std::uintmax_t{4096});
    {
      const auto file = MappedFile::open(path);
      const auto sound = MappedFile::open(other);
      EXPECT_NO_THROW(check_mapped_files());
      std::filesystem::resize_file(path, 4096 + 10);
      EXPECT_EQ(file->bytes()[4096 + 9], std::byte{'x'});
      EXPECT_NO_THROW(check_mapped_files()) << "nobody looked at what is missing";
      EXPECT_EQ(file->bytes()[3 * 4096], std::byte{0});
      EXPECT_EQ(file->bytes()[2 * 4096], std::byte{0});
      EXPECT_EQ(file->bytes()[100], std::byte{'x'});
      EXPECT_EQ(sound->bytes()[3 * 4096], std::byte{'y'});
      EXPECT_NO_THROW(sound->check());
      if (asked) {  // again and again
        EXPECT_THAT(input_error([&] { file->check(); }), HasSubstr(expected));
        EXPECT_THAT(input_error([&] { file->check(); }), HasSubstr(expected));
        EXPECT_THAT(input_error(check_mapped_files), HasSubstr(expected));
        EXPECT_THAT(input_error(check_mapped_files), HasSubstr(expected));
      }
    }
    // Said even after it was closed, once, unless somebody knows.
    if (!asked) {
      EXPECT_THAT(input_error(check_mapped_files), HasSubstr(expected));
    }
    EXPECT_NO_THROW(check_mapped_files());
  }
}

// The kernel sends no signal for these.
TEST(MappedFile, WritingAndCuttingWithinTheLastPageAreSeen) {
  const TempDir dir;
  const auto path = dir.file("f", std::string(4096 + 100, 'x'));
  const auto past = std::filesystem::last_write_time(path) - std::chrono::hours(1);
  const auto opened = [&] {
    std::filesystem::last_write_time(path, past);  // clocks of files may be coarse
    return MappedFile::open(path);
  };
  {
    const auto file = opened();
    EXPECT_NO_THROW(file->check());
    std::filesystem::resize_file(path, 4096 + 50);
    EXPECT_THAT(input_error([&] { file->check(); }), HasSubstr("it had 4196 bytes and has 4146 now"));
  }
  {
    const auto file = opened();
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << "other";
    EXPECT_THAT(input_error([&] { file->check(); }), HasSubstr("another program may have written to it"));
  }
  {
    const auto file = opened();
    dir.file("new", "something else");
    std::filesystem::rename(dir.path() / "new", path);  // as whole downloads arrive: the old bytes are still there
    EXPECT_NO_THROW(file->check());
  }
  EXPECT_NO_THROW(check_mapped_files());
}

// A fault elsewhere, or a signal that somebody sends, still ends the process.
TEST(MappedFileDeathTest, OtherBusErrorsAreNotHidden) {
  if (test::kSanitizerHasSigbus) GTEST_SKIP() << "the sanitizer has the signal";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  guard_mapped_files();
  EXPECT_EXIT(std::raise(SIGBUS), testing::KilledBySignal(SIGBUS), "");
}

struct sigaction found_by_handler {};

extern "C" {
void another_handler(int /*signal*/) {}
void reports_and_raises(int signal) {  // as Python's faulthandler does
  ::sigaction(signal, &found_by_handler, nullptr);
  const std::string_view text = "reported\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) > 0) std::raise(signal);
}
}

struct sigaction bus_action() {
  struct sigaction now {};
  ::sigaction(SIGBUS, nullptr, &now);
  return now;
}

TEST(MappedFilesGuard, PutsItselfBeforeAHandlerAndGivesItBack) {
  struct sigaction before = bus_action(), other{};
  other.sa_handler = another_handler;
  ::sigaction(SIGBUS, &other, nullptr);
  const TempDir dir;
  const auto path = dir.file("f", std::string(5 * 4096, 'x'));
  {
    const MappedFilesGuard guard;
    const auto file = MappedFile::open(path);
    std::filesystem::resize_file(path, 4096);
    {
      const MappedFilesGuard nested;
      EXPECT_EQ(file->bytes()[3 * 4096], std::byte{0});
    }
    EXPECT_EQ(file->bytes()[2 * 4096], std::byte{0});
    EXPECT_THAT(input_error([&] { file->check(); }), HasSubstr("it had 20480 bytes and has 4096 now"));
  }
  EXPECT_EQ(bus_action().sa_handler, another_handler);
  {
    const MappedFilesGuard guard;
    ::sigaction(SIGBUS, &other, nullptr);  // the process changes its mind
  }
  EXPECT_EQ(bus_action().sa_handler, another_handler);
  ::sigaction(SIGBUS, &before, nullptr);
}

TEST(MappedFilesGuardDeathTest, OtherBusErrorsGoToTheHandlerThatWasThere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TempDir dir;
  const auto path = dir.file("f", std::string(2 * 4096, 'x'));
  const auto take_signal = [] {
    guard_mapped_files();  // which that handler will go back to
    struct sigaction other {};
    other.sa_handler = reports_and_raises;
    ::sigaction(SIGBUS, &other, &found_by_handler);
  };
  const auto fault = [&] {
    take_signal();
    const MappedFilesGuard guard;
    const int file = ::open(path.c_str(), O_RDONLY);  // nobody told the guard of this one
    const auto* bytes = static_cast<volatile char*>(::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, file, 0));
    std::filesystem::resize_file(path, 0);
    std::printf("%d", bytes[4096]);
  };
  EXPECT_EXIT(fault(), testing::KilledBySignal(SIGBUS), "^reported\n$");
  const auto sent = [&] {
    take_signal();
    const MappedFilesGuard guard;
    std::raise(SIGBUS);
  };
  EXPECT_EXIT(sent(), testing::KilledBySignal(SIGBUS), "^reported\n$");
}

TEST(MappedFile, PrefetchingChangesNothing) {
  const TempDir dir;
  const auto file = MappedFile::open(dir.file("f", std::string(3 * 4096 + 5, 'x')));
  file->prefetch(file->bytes());
  file->prefetch(file->bytes().subspan(4095, 2));
  file->prefetch({});
  const std::byte elsewhere[3] = {};
  file->prefetch(elsewhere);
  EXPECT_EQ(text_of(file->bytes()), std::string(3 * 4096 + 5, 'x'));
}

TEST(MappedFile, OutlivesTheName) {
  const TempDir dir;
  const auto path = dir.file("f", "content");
  const auto file = MappedFile::open(path);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(file->bytes()), "content");
}

TEST(MappedFileHostile, EachProblemHasItsMessage) {
  const TempDir dir;
  const auto open_error = [](const std::filesystem::path& path) {
    return input_error([&] { MappedFile::open(path); });
  };
  EXPECT_THAT(open_error(dir.path() / "none"), HasSubstr("no such file"));
  EXPECT_THAT(open_error(dir.file("f", "x") / "below"), HasSubstr("is a file, not a folder"));
  EXPECT_THAT(open_error(dir.path()), HasSubstr("is a directory"));
  EXPECT_THAT(open_error(dir.file("empty", "")), HasSubstr("is empty"));
  EXPECT_THAT(open_error("/dev/null"), HasSubstr("expected a regular file"));
  EXPECT_THAT(open_error(""), HasSubstr("no such file"));
  std::filesystem::create_symlink("loop", dir.path() / "loop");
  EXPECT_THAT(open_error(dir.path() / "loop"), HasSubstr("symbolic links"));
  EXPECT_THAT(open_error(dir.path() / "bad\x1b[2Jname"), HasSubstr("bad\\x1b[2Jname"));
}

TEST(MappedFileHostile, FifoAndSocketDoNotBlock) {
  const TempDir dir;
  const std::string fifo = (dir.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(input_error([&] { MappedFile::open(fifo); }), HasSubstr("expected a regular file"));

  const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(s, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = (dir.path() / "socket").string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  ASSERT_EQ(::bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(input_error([&] { MappedFile::open(name); }), HasSubstr("expected a regular file"));
  ::close(s);
}

TEST(MappedFileHostile, NoPermission) {
  EXPECT_THAT(std::string(file_error("f", "cannot be opened", EACCES).what()), HasSubstr("check the permissions"));
  const TempDir dir;
  const auto path = dir.file("secret", "x");
  std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const bool root = ::geteuid() == 0;  // whom permissions do not bind: become nobody for a moment
  if (root && ::seteuid(65534) != 0) return;
  const std::string text = input_error([&] { MappedFile::open(path); });
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(text, HasSubstr("check the permissions"));
}

}  // namespace
}  // namespace rankfall
