#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <rankfall/report.h>

// Where a command's result goes. Standard output carries nothing else.

namespace rankfall::cli {

struct OutputOptions {
  std::string format = "table";  // table, csv or json
  bool format_given = false;     // otherwise the file's ending decides
  std::string file;              // empty or "-": standard output
  bool file_given = false;       // an empty name is refused
  bool quiet = false;            // no progress; with a file, nothing on standard output
  bool plot = false;             // curves in characters under the tables
  std::string rows;              // seeds, samples or all; empty: the highest level
};

// Adds --format, -o/--output, --rows, --plot and --quiet. An output that cannot be written (unknown ending, no such
// folder) is refused while parsing, before any work. Uses app.parse_complete_callback. `options` must outlive `app`.
void add_output_options(CLI::App& app, OutputOptions& options);

// The format of the file, or of standard output without a file.
Format output_format(const OutputOptions& options);

// Writes the file, if one was asked for, then prints the table (or, without a file, the chosen format). Colour, width
// and character set of the printed table are set here from the terminal; the file's table is plain. The manifest's
// `notes` go to standard error. Throws Error kInput
// if either cannot be written.
void write_result(const Result& result, const OutputOptions& options, TableOptions table = {});

// Throws CLI::ValidationError unless a file of that name can be written: a long job must not end in "no such
// directory".
void check_writable(const std::string& option, const std::filesystem::path& file);

// Throws CLI::ValidationError if the file is one that the command line names as an input, or one that a model among
// these is made of, whatever the names: writing would destroy it.
void check_not_input(const CLI::App& app, const std::string& option, const std::filesystem::path& file);

// Throws CLI::ValidationError unless the file's name ends in one of these (".html"): programs go by it.
void check_ending(const std::string& option, const std::filesystem::path& file,
                  const std::vector<std::string>& endings);

// To standard error, a line each.
void print_notes(const std::vector<std::string>& notes);

}  // namespace rankfall::cli
