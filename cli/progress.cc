#include "cli/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/host.h"
#include "cli/streams.h"
#include "cli/terminal.h"

namespace rankfall::cli {
namespace {

using std::chrono::milliseconds;

constexpr auto kFirst = milliseconds(300);  // a job shorter than this shows nothing
constexpr auto kRedraw = milliseconds(100);
constexpr auto kLog = milliseconds(10'000);
constexpr int kBarWidth = 20;

// For the signal handler: a progress line is on the screen, without a newline.
volatile std::sig_atomic_t line_on_screen = 0;

void on_stop(int signal) {
  if (line_on_screen != 0) write_stderr("\n");
  write_stderr(signal == SIGINT ? "rankfall: interrupted\n" : "rankfall: terminated\n");
  std::raise(signal);  // by now the default again (SA_RESETHAND): ends the process when this returns
}

// 0:07, 12:34, 1:02:03
std::string clock_text(double seconds) {
  const auto s = static_cast<long>(std::clamp(seconds, 0.0, 359'999.0));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string bar_text(double share, bool unicode) {
  const int filled = static_cast<int>(share * kBarWidth);
  std::string out;
  for (int i = 0; i < kBarWidth; ++i) out += i < filled ? (unicode ? "█" : "#") : (unicode ? "░" : ".");
  return out;
}

// Names of models come from outside: only printable ASCII reaches the terminal, so one byte is one column.
std::string plain(std::string_view text, int width) {
  std::string out;
  for (const char c : text.substr(0, static_cast<std::size_t>(std::max(0, width)))) {
    out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out;
}

}  // namespace

std::string progress_text(double done, double total, double seconds, std::string_view what, int width, bool unicode) {
  const double ratio = done / total;
  const double share = total > 0 && std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : 0.0;
  // Early guesses are wild; none is better.
  const bool can_guess = share >= 0.02 && seconds >= 1;
  const std::string left =
      can_guess ? fmt::format(", {} left", clock_text(std::ceil(seconds * (1 - share) / share))) : "";
  const std::string numbers = fmt::format("{:3.0f}% ", std::floor(100 * share));
  const std::string times = fmt::format(" {}{}", clock_text(seconds), left);
  std::string out = numbers;
  int used = static_cast<int>(numbers.size() + times.size());
  if (used + kBarWidth <= width) {
    out += bar_text(share, unicode);
    used += kBarWidth;
  }
  out += times;
  return used + 2 < width ? out + "  " + plain(what, width - used - 2) : out;
}

ProgressLine::ProgressLine(bool quiet)
    : quiet_(quiet), terminal_(is_terminal(STDERR_FILENO)), unicode_(wants_unicode()), start_(Clock::now()) {
  const char* term = std::getenv("TERM");
  if (term && std::string_view(term) == "dumb") terminal_ = false;  // cannot go back to the line's beginning and erase
  next_ = start_ + (terminal_ ? kFirst : kLog);
}

Progress ProgressLine::callback() {
  if (const Host* caller = host()) return caller->progress;
  if (quiet_) return {};
  return [this](double done, double total, std::string_view what) { update(done, total, what); };
}

void ProgressLine::update(double done, double total, std::string_view what) {
  const auto now = Clock::now();
  if (now < next_) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (terminal_) {
    // One column less than there are: a full last column makes some terminals wrap.
    const int width = std::max(20, terminal_width(STDERR_FILENO, 80) - 1);
    line_on_screen = 1;  // before it is: a signal between must not find it unfinished
    write_stderr(fmt::format("\r{}\x1b[K", progress_text(done, total, seconds, what, width, unicode_)));
    shown_ = true;
    next_ = now + kRedraw;
  } else {
    write_stderr(progress_text(done, total, seconds, what, 100, false) + "\n");
    next_ = now + kLog;
  }
}

void ProgressLine::clear() {
  if (!shown_) return;
  write_stderr("\r\x1b[K");
  shown_ = false;
  line_on_screen = 0;
}

void say_when_stopped() {
  for (const int signal : std::array{SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_stop;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace rankfall::cli
