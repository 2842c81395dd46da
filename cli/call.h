#pragma once

#include <string>
#include <vector>

#include "cli/host.h"

// Commands as functions: the Python module's. A command runs as from a command line, so that both have the same options
// and the same numbers.

namespace rankfall::cli {

// One argument of a function.
struct Argument {
  std::string name;        // "fail_if"; of a positional one "model"
  std::string option;      // "--fail-if"; empty: positional
  std::string help;        // one sentence, with the names of arguments in it
  std::string value;       // what stands for it in a help text: "N", "FILE", "f32|f64"; empty: true or false
  std::string by_default;  // in words; empty: none
  std::string group;       // "Input", or empty
  bool required = false;
  bool several = false;  // takes a list
  bool joined = false;   // the list is one value, joined by commas
};

// A command that gives a result.
struct Function {
  std::string name, summary, notes;
  std::vector<Argument> arguments;
};

// In the order of the command's help. Options about output, which a host has no use for, are left out.
std::vector<Function> functions();

// The text of an error of the library with the names of arguments: fields of options ("InputOptions::n_tokens") and
// options of commands become "tokens".
std::string with_argument_names(const std::string& text);

// `words` are those of a command line behind the command's name. Throws Error, whose text names arguments as
// functions() does. Not to be called twice at the same time.
void call(const std::string& name, const std::vector<std::string>& words, const Host& host);

}  // namespace rankfall::cli
