#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include <rankfall/error.h>

// Training needs libtorch, which nothing else does: it is a program of its own, started from here.

namespace rankfall::cli {
namespace {

constexpr const char* kProgram = "rankfall-train";

// Beside this program, or where the installation puts it.
std::filesystem::path find_program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto folder = self.parent_path();
  for (const auto& place : {folder / kProgram, folder / RANKFALL_BIN_TO_LIBEXEC / kProgram}) {
    if (std::filesystem::is_regular_file(place, error)) return place;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("{} is not beside {} nor in {}: this rankfall was built without libtorch (Debian's package "
                          "libtorch-dev); install that and build again",
                          kProgram, self.string(), (folder / RANKFALL_BIN_TO_LIBEXEC).lexically_normal().string()));
}

void start(const std::string& command, const std::vector<std::string>& arguments) {
  const std::string program = find_program().string();
  std::vector<std::string> all = {program, command};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(all.size() + 1);
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  setenv("RANKFALL_COMMAND", self.c_str(), 1);  // which it runs for tokenizers
  execv(program.c_str(), pointers.data());
  throw Error(ErrorKind::kUsage, fmt::format("cannot start {}: {}", program, std::strerror(errno)));
}

}  // namespace

void add_train_commands(CLI::App& app) {
  for (const auto& [name, description] :
       {std::pair("train", "train a network on a task: sort, hull, memorize or circle"),
        std::pair("circle", "train the recurrence of Figure 3 and follow its two tracks")}) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->set_help_flag();  // all arguments are the other program's, also --help
    sub->prefix_command();
    const std::string command = name;
    sub->callback([sub, command] { start(command, sub->remaining()); });
  }
}

}  // namespace rankfall::cli
