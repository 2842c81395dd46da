#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

// What is said of command lines that cannot be right.

namespace rankfall::cli {

// Why the command line could not be parsed, in plain words: an unknown command or option is named, with the nearest
// known one; then where to find help. Nothing of the parser's own types.
std::string parse_failure(const CLI::App& app, const CLI::ParseError& error);

// "unknown command 'mesure'; did you mean 'measure'?"
std::string unknown_command(const CLI::App& app, const std::string& word);

// For options that take one of a few names: says which, and the nearest one. Help and completions read the names.
CLI::Validator one_of(std::vector<std::string> names);

}  // namespace rankfall::cli
