#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/process.h"
#include <rankfall/error.h>

// Training needs libtorch, which nothing else does: it is a program of its own, started from here.

namespace rankfall::cli {
namespace {

// Below this the loader has no room for libtorch and what that needs, and would say so in its own way.
constexpr rlim_t kLibraries = rlim_t{1} << 30;

void start(const std::string& command, const std::vector<std::string>& arguments) {
  const auto found = training_program();
  if (!found) throw Error(ErrorKind::kUsage, no_training_program());
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < kLibraries) throw std::bad_alloc();
  const std::string program = found->string();
  std::vector<std::string> all = {program, command};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(all.size() + 1);
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw Error(ErrorKind::kUsage, fmt::format("cannot start {}: {}", program, std::strerror(errno)));
}

}  // namespace

void bind_training(CLI::App& sub) {
  sub.set_help_flag();  // all arguments are the other program's, also -h and --help
  sub.set_help_all_flag();
  sub.footer("Example:\n  rankfall train sort --quick -o sorting");  // of the group, in the list of commands
  sub.prefix_command();
  sub.callback([&sub] { start(sub.get_name(), sub.remaining()); });
}

}  // namespace rankfall::cli
