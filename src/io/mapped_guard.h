#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

// Where mapped files lie, for the handler of SIGBUS (rankfall/mapped_files.h).

namespace rankfall {

// A mapped file as the handler sees it. Never freed, since a handler may be looking at it; used again once the file is
// closed and whatever happened to it was said.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> damaged{false};
  GuardedRange* next = nullptr;  // set before the range is published
  bool taken = false;            // the rest belongs to whoever holds the lock in mapped_guard.cc
  std::string path;
  std::size_t size = 0;
};

GuardedRange* guard_range(const void* begin, std::size_t size, std::string path);
void unguard_range(GuardedRange* range);

}  // namespace rankfall
