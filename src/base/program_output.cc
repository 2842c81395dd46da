#include "base/program_output.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rankfall {

ProgramOutput program_output(std::vector<std::string> words, bool quiet) {
  ProgramOutput output;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    output.not_started = errno;
    return output;
  }
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // Not fork(), before which OpenBLAS waits for its threads, which may wait for memory.
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (quiet) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  output.not_started = posix_spawn(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::array<char, 1 << 16> buffer{};
  while (output.not_started == 0) {
    const ssize_t n = read(ends[0], buffer.data(), buffer.size());
    if (n == 0 || (n < 0 && errno != EINTR)) break;
    if (n > 0) output.text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (output.not_started != 0) return output;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

}  // namespace rankfall
