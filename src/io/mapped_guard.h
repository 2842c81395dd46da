#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

// Where mapped files lie, for the handler of SIGBUS (rankfall/mapped_files.h).

namespace rankfall {

// A mapped file as the handler sees it. Never freed, since a handler may be looking at it; used again once the file is
// closed.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // both 0: nothing is mapped
  std::atomic<bool> damaged{false};              // a part of it was replaced by zeros
  std::atomic<bool> said{false};                 // and somebody was told
  GuardedRange* next = nullptr;                  // set before the range is published
  bool taken = false;                            // belongs to whoever holds the lock in mapped_guard.cc, as does path
  std::string path;
};

GuardedRange* guard_range(const void* begin, std::size_t size, std::string path);
void unguard_range(GuardedRange* range);

// What to say of a file that is no longer what it was.
std::string what_changed(const std::string& path, std::uint64_t size_before, std::uint64_t size_now);

}  // namespace rankfall
