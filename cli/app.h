#pragma once

#include <CLI/CLI.hpp>

namespace rankfall::cli {

// The life of a command with subcommands: `add` registers them, then arguments are parsed and the chosen one runs.
// Ends the process with the exit code; errors are on standard error. `name` is what people type.
[[noreturn]] void run_app(int argc, char** argv, const char* name, const char* description, void (*add)(CLI::App& app));

}  // namespace rankfall::cli
