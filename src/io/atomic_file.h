#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace rankfall {

// A file that appears complete or not at all: it is written without a name in the target's folder and takes the
// target's name on commit(); without commit() it is gone. A process that is killed leaves nothing behind, except
// between the two system calls that replace an existing target, and on file systems that have no nameless files: there
// a file with an unpredictable name may remain, which remove_leftovers() finds. A target that is a symbolic link stays
// one: what it points to is replaced. A target that exists keeps its permissions; a new one gets 0666 & ~umask. A
// target that is no regular file (/dev/stdout, a terminal, a fifo) is written to directly, and so are the descriptors
// of this process
// (/dev/fd/N): these receive what was written even without commit(). Errors (Error, kInput) carry the system's reason.
// Not thread-safe, except write_at.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::string_view text);  // appends to what write() wrote before

  // Gives the file its final size at once, so that a full disk is noticed before hours of work. Only for write_at.
  void reserve(std::uint64_t size);
  // Writes at an offset; regular files only. Threads may call it at the same time for different parts.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

  // Data to disk, name in place, folder to disk. Nothing may be called afterwards.
  void commit();

 private:
  void open_special(bool pipe);
  void create_temporary();
  void remove_temporary() noexcept;

  std::filesystem::path target_;     // as given, for messages
  std::filesystem::path resolved_;   // links followed
  std::filesystem::path temporary_;  // empty: nameless, written directly, or committed
  bool direct_ = false;              // the target is no regular file
  int fd_ = -1;
};

// The same path; a symbolic link that stands there is removed. For files in folders that a command keeps, which may
// come from a stranger: what is written stays inside them.
const std::filesystem::path& without_link(const std::filesystem::path& file);

// Removes what killed processes left beside `target` while they wrote it. Only for folders that this process has
// locked: another writer's file would go too. What cannot be removed stays.
void remove_leftovers(const std::filesystem::path& target);

// AtomicFile, write, commit.
void write_file_atomically(const std::filesystem::path& target, std::string_view text);

}  // namespace rankfall
