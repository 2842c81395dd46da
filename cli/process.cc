#include "cli/process.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program_output.h"
#include <rankfall/error.h>

namespace rankfall::cli {
namespace {

constexpr const char* kTraining = "rankfall-train";

std::array<std::filesystem::path, 2> training_places() {
  const auto folder = this_program().parent_path();
  return {folder / kTraining, folder / RANKFALL_BIN_TO_LIBEXEC / kTraining};
}

// SIGINT and SIGTERM wait for as long as this lives, so that a child that is stopping is not left alone. Who ignores
// them goes on doing so.
class Stop {
 public:
  Stop() {
    asked = 0;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals.at(i), nullptr, &before_.at(i));
      if (before_.at(i).sa_handler != SIG_IGN) sigaction(kSignals.at(i), &action, nullptr);
    }
  }
  ~Stop() {
    restore();
    if (asked != 0) std::raise(asked);
  }
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  void restore() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals.at(i), &before_.at(i), nullptr);
  }
  static int signal() { return asked; }
  static bool from_terminal() { return terminal != 0; }  // which sent it to the child, too

 private:
  static void on_signal(int signal, siginfo_t* info, void* /*context*/) {
    asked = signal;
    terminal = info->si_code == SI_KERNEL ? 1 : 0;
  }

  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
  static volatile std::sig_atomic_t asked, terminal;
  std::array<struct sigaction, 2> before_{};
};
volatile std::sig_atomic_t Stop::asked = 0;
volatile std::sig_atomic_t Stop::terminal = 0;

}  // namespace

std::filesystem::path this_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::optional<std::filesystem::path> training_program() {
  std::error_code error;
  if (!this_program().is_absolute()) return std::nullopt;  // never the current directory's
  for (const auto& place : training_places()) {
    if (std::filesystem::is_regular_file(place, error)) return place;
  }
  return std::nullopt;
}

std::string no_training_program() {
  const auto places = training_places();
  return fmt::format(
      "{} is neither {} nor {}: this rankfall was built without libtorch (Debian's package libtorch-dev); "
      "install that and build again",
      kTraining, places[0].string(), places[1].lexically_normal().string());
}

std::string training_output(const std::string& argument) {
  const auto program = training_program();
  if (!program) return "";
  const ProgramOutput output = program_output({program->string(), argument}, true);
  return output.not_started == 0 && output.exit_code == 0 ? output.text : "";
}

int run_self(const std::vector<std::string>& arguments, const std::function<void(double seconds)>& waiting) {
  std::vector<std::string> all = {this_program().string()};
  if (all[0].empty()) throw Error(ErrorKind::kUsage, "cannot start rankfall: /proc/self/exe does not name it");
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(all.size() + 1);
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const Stop stop;
  // Not fork(), before which OpenBLAS waits for its threads, which may wait for memory.
  const pid_t child = _Fork();
  if (child < 0) throw Error(ErrorKind::kUsage, fmt::format("cannot start {}: {}", all[0], std::strerror(errno)));
  if (child == 0) {
    stop.restore();
    prctl(PR_SET_PDEATHSIG, SIGKILL);   // its files are whole at any moment, and its locks go with it
    if (getppid() != parent) _exit(1);  // it ended before prctl
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  bool told = false;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR)
      throw Error(ErrorKind::kUsage, fmt::format("waiting for {}: {}", all[0], std::strerror(errno)));
    if (Stop::signal() != 0 && !told) {
      if (!Stop::from_terminal()) kill(child, Stop::signal());
      told = true;
    }
    if (waiting) waiting(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace rankfall::cli
