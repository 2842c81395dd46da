#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <rankfall/process.h>

namespace rankfall::cli {

// Progress of a job on standard error. On a terminal one line, rewritten in place and gone when the object goes;
// otherwise, for jobs that last, one line every ten seconds. With `quiet` nothing. Clear it before printing anything
// else.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Refers to this object, which must outlive it. Empty when nothing will ever be shown.
  Progress callback();

  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void update(double done, double total, std::string_view what);

  bool quiet_;
  bool terminal_;
  bool unicode_;
  bool shown_ = false;  // a line is on the screen
  Clock::time_point start_, next_;
};

// From here on SIGINT and SIGTERM end a progress line that is on the screen, and say so, before they end the process as
// usual. Signals that are ignored stay so.
void say_when_stopped();

// " 42% ████▏      0:12, 0:17 left  bert-base@init san", cut to `width` columns. seconds: since the start.
std::string progress_text(double done, double total, double seconds, std::string_view what, int width, bool unicode);

}  // namespace rankfall::cli
