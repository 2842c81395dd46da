#pragma once

#include <CLI/CLI.hpp>

namespace rankfall::cli {

// Adds every command of `rankfall`, in the order of its help.
void add_commands(CLI::App& app);

}  // namespace rankfall::cli
