#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <rankfall/error.h>

// What is said of command lines that cannot be right.

namespace rankfall::cli {

// Why the command line could not be parsed, in plain words: an unknown command or option is named, with the nearest
// known one; then where to find help. Nothing of the parser's own types.
std::string parse_failure(const CLI::App& app, const CLI::ParseError& error);

// The same without where to find help.
std::string parse_reason(const CLI::App& app, const CLI::ParseError& error);

// "unknown command 'mesure'; did you mean 'measure'?"
std::string unknown_command(const CLI::App& app, const std::string& word);

// The text of an error of the library, with fields of its options ("InputOptions::n_tokens") as the options of the
// command that set them ("--tokens").
std::string with_option_names(std::string text);

// What `step` returns; its errors are about the value of this option.
template <class Step>
auto for_option(const std::string& option, const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    throw Error(error.kind(), option + ": " + error.what());
  }
}

// For options that take one of a few names: says which, and the nearest one. Help and completions read the names.
CLI::Validator one_of(std::vector<std::string> names);

}  // namespace rankfall::cli
