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

int cores_of_machine();
int cores_allowed();  // by the affinity mask (taskset, containers)

}  // namespace rankfall
