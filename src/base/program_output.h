#pragma once

#include <string>
#include <vector>

#include <rankfall/export.h>

namespace rankfall {

struct ProgramOutput {
  std::string text;     // its standard output
  int exit_code = 0;    // 128 + the signal that ended it
  int not_started = 0;  // errno of starting it; 0 if it ran
};

// Runs a program to its end: words[0] is its path, not looked up in PATH. Its standard error is ours, or /dev/null if
// `quiet`.
RANKFALL_API ProgramOutput program_output(std::vector<std::string> words, bool quiet);

}  // namespace rankfall
