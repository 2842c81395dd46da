#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rankfall::cli {

// This program's own file.
std::filesystem::path this_program();

// rankfall-train, beside this program or where the installation puts it; nothing if it was not built.
std::optional<std::filesystem::path> training_program();

// Why there is none, and what to do.
std::string no_training_program();

// What that program prints, run with this argument; empty if there is none.
std::string training_output(const std::string& argument);

// Runs this program with these arguments, its standard output thrown away; it ends when this process does, and SIGINT
// and SIGTERM end this one when it has ended. `waiting` is called now and then with the seconds gone. Returns its exit
// code, 128 + the signal that ended it; Error kUsage if it cannot be started.
int run_self(const std::vector<std::string>& arguments, const std::function<void(double seconds)>& waiting);

}  // namespace rankfall::cli
