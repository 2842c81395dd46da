#pragma once

#include <filesystem>

namespace rankfall {

// An exclusive lock on a directory itself: it leaves no file behind, and ends with the process, however that ends.
// Where the file system has no locks, or the directory cannot be opened, there is none, and `held_by_another` is false.
class DirectoryLock {
 public:
  // Waits for up to a second: a process that was killed may take a moment to go.
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

  bool held_by_another() const { return held_by_another_; }

 private:
  int fd_;
  bool held_by_another_ = false;
};

}  // namespace rankfall
