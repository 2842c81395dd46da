#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace rankfall {

struct GuardedRange;

// Whether the folder has such a name. A broken link is there too: opening it says what is wrong.
bool is_there(const std::filesystem::path& path);

// A regular file mapped into memory, read-only; spans into bytes() are valid while the MappedFile lives. Thread-safe.
// A file that somebody writes to or shortens while it is mapped: check(), and rankfall/mapped_files.h.
class MappedFile {
 public:
  // Throws Error (kInput) if the file is missing, empty, unreadable, or not a regular file. Never blocks on a fifo.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

  // Throws Error (kInput) if the file was written to, or cut, since it was opened.
  void check() const;

  // Lets the kernel take back the whole pages inside `part`, a part of bytes(). Its bytes stay valid: they are read
  // from the file again when touched.
  void release(std::span<const std::byte> part) const;

  // Asks the kernel to read the pages of `part` ahead of their use, while others are worked on.
  void prefetch(std::span<const std::byte> part) const;

 private:
  struct Opened;  // the descriptor and what it said
  MappedFile(std::filesystem::path path, Opened opened, std::span<const std::byte> bytes);

  std::filesystem::path path_;
  std::unique_ptr<const Opened> opened_;
  std::span<const std::byte> bytes_;
  GuardedRange* guarded_;
};

}  // namespace rankfall
