#include "base/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <thread>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rankfall {
namespace {

// The number a file begins with; nothing if there is no file, or another word ("max").
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

// "MemAvailable:   123 kB" in /proc/meminfo.
std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  for (std::string rest; file >> name >> kilobytes; std::getline(file, rest)) {
    if (name == "MemAvailable:") return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

std::optional<std::uint64_t> group_memory_limit(const std::string& membership, const std::string& groups,
                                                std::uint64_t physical) {
  std::ifstream file(membership);
  std::optional<std::uint64_t> least;
  for (std::string line; std::getline(file, line);) {  // "0::/a/b", or "4:memory:/a/b" of version 1
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const std::string root = groups + (controllers.empty() ? "" : "/memory");
    const std::string name = controllers.empty() ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string group = line.substr(second + 1);;) {
      if (group == "/") group.clear();
      std::string file_name = root;
      file_name += group;
      file_name += name;
      const auto limit = number_in(file_name);
      if (limit && *limit < physical) least = std::min(least.value_or(*limit), *limit);
      const auto parent = group.rfind('/');
      if (parent == std::string::npos) break;
      group.resize(parent);
    }
  }
  return least;
}

std::uint64_t MemoryLimits::allowed() const {
  return std::min({physical, address_space.value_or(physical), group.value_or(physical)});
}

MemoryLimits memory_limits() {
  MemoryLimits limits;
  limits.physical =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  limits.available = available_memory();
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) limits.address_space = space.rlim_cur;
  limits.group = group_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup", limits.physical);
  return limits;
}

int cores_of_machine() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

int cores_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace rankfall
