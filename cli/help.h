#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace rankfall::cli {

// What `rankfall`, `-h` and `--help` print. Of a command, -h has what fits on a screen: the ten options that matter
// most and some examples; --help has everything.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

// Gives an App this formatter, -h and --help; its commands inherit all three.
void set_help(CLI::App& app);

}  // namespace rankfall::cli
