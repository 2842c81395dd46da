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

// The tightest limit from this process's control group up to the root; version 2, or 1 where there is no 2.
std::optional<std::uint64_t> group_limit(std::uint64_t physical) {
  std::ifstream file("/proc/self/cgroup");
  std::optional<std::uint64_t> least;
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    const std::string root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const std::string name = controllers.empty() ? "/memory.max" : "/memory.limit_in_bytes";
    for (std::string group = line.substr(second + 1);;) {
      std::string file_name = root;
      if (group != "/") file_name += group;
      const auto limit = number_in(file_name += name);
      if (limit && *limit < physical) least = std::min(least.value_or(*limit), *limit);
      if (group.empty() || group == "/") break;
      group.resize(group.rfind('/'));
    }
  }
  return least;
}

}  // namespace

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
  limits.group = group_limit(limits.physical);
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
