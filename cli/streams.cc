#include "cli/streams.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/terminal.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall::cli {

void prepare_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The smallest number that is free is this one. Opened the wrong way round, so that use fails.
    open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // NOLINT(android-cloexec-open): children, too
  }
}

void write_stdout(std::string_view text) {
  const auto fail = [](int error) {
    throw Error(ErrorKind::kInput, fmt::format("standard output: {}{}", std::strerror(error),
                                               error == EPIPE ? "; the program that read it has ended" : ""));
  };
  if (std::fflush(stdout) != 0) fail(errno);
  while (!text.empty()) {
    const ssize_t n = write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) fail(errno);
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void print_stdout(std::string_view text) {
  if (is_terminal(STDOUT_FILENO)) {
    write_stdout(for_terminal(text));
  } else {
    write_stdout(text);
  }
}

void write_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void say(std::string_view text) { write_stderr(for_terminal(text) + "\n"); }

}  // namespace rankfall::cli
