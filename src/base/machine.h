#pragma once

#include <cstdint>
#include <optional>
#include <string>

// What this process may use of the machine.

namespace rankfall {

struct MemoryLimits {
  std::uint64_t physical = 0;                  // bytes of the machine
  std::uint64_t available = 0;                 // of these, free or to be had without swapping
  std::optional<std::uint64_t> address_space;  // ulimit -v
  std::optional<std::uint64_t> group;          // of the control group (a container's memory limit)

  // The least of them, without what others use.
  std::uint64_t allowed() const;
};

MemoryLimits memory_limits();

// The tightest limit below `physical` from the control group that a file as /proc/self/cgroup names up to the root;
// `groups` is where they are mounted (/sys/fs/cgroup). Version 2, or 1.
std::optional<std::uint64_t> group_memory_limit(const std::string& membership, const std::string& groups,
                                                std::uint64_t physical);

// What this process holds in memory, in bytes; nothing where /proc does not say.
struct ResidentMemory {
  std::uint64_t now = 0;
  std::uint64_t peak = 0;  // the most since it began, or since reset_peak_memory()
};
std::optional<ResidentMemory> resident_memory();

// Gives freed memory back to the system, then makes `peak` what is held now. False where the system does not let it.
bool reset_peak_memory();

int cores_of_machine();
int cores_allowed();  // by the affinity mask (taskset, containers)

}  // namespace rankfall
