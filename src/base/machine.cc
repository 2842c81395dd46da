#include "base/machine.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <thread>

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/parse_number.h"

namespace rankfall {
namespace {

// The number a file begins with; nothing if there is no file, or another word ("max").
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  return parse_number<std::uint64_t>(word);
}

// In bytes: "NAME   123 kB" in a file of /proc, NAME with its colon.
std::optional<std::uint64_t> memory_in(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const auto digits = std::min(line.find_first_of("0123456789"), line.size());
    std::uint64_t kilobytes = 0;
    const auto parsed = std::from_chars(line.data() + digits, line.data() + line.size(), kilobytes);
    return parsed.ec == std::errc() ? std::optional(kilobytes * 1024) : std::nullopt;
  }
  return std::nullopt;
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
  limits.available = memory_in("/proc/meminfo", "MemAvailable:").value_or(0);
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) limits.address_space = space.rlim_cur;
  limits.group = group_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup", limits.physical);
  return limits;
}

std::optional<ResidentMemory> resident_memory() {
  const auto now = memory_in("/proc/self/status", "VmRSS:");
  const auto peak = memory_in("/proc/self/status", "VmHWM:");
  if (!now || !peak) return std::nullopt;
  return ResidentMemory{*now, *peak};
}

bool reset_peak_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

int cores_of_machine() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

int cores_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace rankfall
