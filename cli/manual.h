#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

// The command line described: what --help says, as a man page and as completions of a shell. All from the same App.

namespace rankfall::cli {

// A part of the man page for each subcommand, in roff. Commands of the other program are left out.
std::string man_sections(const CLI::App& app);

// The whole page; `more` are sections of commands that another program has.
std::string man_page(const CLI::App& app, const std::string& more);

// What may stand for the last of `words`, which follow the program's name. "FILES" among them: any file does, too.
std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words);

// What of an App people see: commands and options that are not hidden, and an option's names with their dashes.
std::vector<const CLI::App*> commands_of(const CLI::App& app);
std::vector<const CLI::Option*> options_of(const CLI::App& command);
std::vector<std::string> names_of(const CLI::Option& option);

// What stands for an option's value ("N", "FILE", "f32|f64"; empty for a flag), and its default in words.
std::string value_of(const CLI::Option& option);
std::string default_of(const CLI::Option& option);

// The command of rankfall-train: its arguments are not known here.
inline bool is_elsewhere(const CLI::App& command) { return command.get_prefix_command(); }

}  // namespace rankfall::cli
