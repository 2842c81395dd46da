#include "cli/output.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/host.h"
#include "cli/streams.h"
#include "cli/terminal.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/process.h>

namespace rankfall::cli {
namespace {

bool has_file(const OutputOptions& options) { return !options.file.empty() && options.file != "-"; }

std::optional<Format> format_of_name(const std::string& name) {
  if (name == "table") return Format::kTable;
  if (name == "csv") return Format::kCsv;
  if (name == "json") return Format::kJson;
  return std::nullopt;
}

std::optional<Format> format_of_file(const std::filesystem::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".txt") return Format::kTable;
  return ending.empty() ? std::nullopt : format_of_name(ending.substr(1));
}

// Means over seeds exist only with --seeds: to be told after an hour's work would be too late.
void check_rows(const CLI::App& app, const OutputOptions& options) {
  if (options.rows != "seeds") return;
  const CLI::Option* seeds = app.get_option_no_throw("--seeds");
  if (!seeds || seeds->count() == 0 || seeds->as<int>() < 2) {
    throw CLI::ValidationError("--rows seeds", seeds
                                                   ? "there are no means over seeds; add --seeds N with N of 2 or more"
                                                   : "this command has no means over seeds");
  }
}

void check(const OutputOptions& options) {
  if (options.file_given && options.file.empty()) throw CLI::ValidationError("--output", "expected a file's name");
  if (!has_file(options)) return;
  const auto by_ending = format_of_file(options.file);
  if (!options.format_given && !by_ending) {
    throw CLI::ValidationError("--output",
                               options.file + ": its ending names no format (.csv, .json, .txt); give --format");
  }
  // A program that opens the file goes by its ending.
  if (options.format_given && by_ending && by_ending != format_of_name(options.format)) {
    throw CLI::ValidationError(
        "--output", fmt::format("{}: its ending says another format than --format {}", options.file, options.format));
  }
  check_writable("--output", options.file);
}

}  // namespace

void check_writable(const std::string& option, const std::filesystem::path& file) {
  const auto refuse = [&](const std::string& why) { throw CLI::ValidationError(option, file.string() + ": " + why); };
  std::error_code error;
  if (file.empty()) refuse("expected a file's name");
  if (std::filesystem::is_directory(file, error)) refuse("is a directory, expected a file's name");
  if (file.has_parent_path() && !std::filesystem::is_directory(file.parent_path(), error)) {
    refuse("there is no directory " + file.parent_path().string());
  }
  const std::string parent = file.has_parent_path() ? file.parent_path().string() : ".";
  if (!std::filesystem::exists(file, error) && access(parent.c_str(), W_OK) != 0) {
    refuse("nothing can be written to the directory " + parent);
  }
}

namespace {

// Names of files that a model's directory is made of. Others in it, such as results, may be written again.
bool is_of_a_model(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  constexpr std::string_view kNames[] = {"config.json",
                                         "generation_config.json",
                                         "preprocessor_config.json",
                                         "tokenizer.json",
                                         "tokenizer_config.json",
                                         "special_tokens_map.json",
                                         "vocab.txt",
                                         "vocab.json",
                                         "merges.txt",
                                         "added_tokens.json",
                                         "history.json",
                                         "training.json"};
  constexpr std::string_view kEndings[] = {".safetensors", ".safetensors.index.json", ".model", ".bin", ".vocab"};
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

// Whether two paths name one file, also through links.
bool is_same(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

}  // namespace

void check_not_input(const CLI::App& app, const std::string& option, const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return;
  for (const CLI::Option* other : app.get_options()) {
    if (other->check_name(option)) continue;
    for (std::string value : other->results()) {
      if (value.ends_with("@init")) value.resize(value.size() - std::string_view("@init").size());
      if (is_same(value, file)) {
        throw CLI::ValidationError(
            option, fmt::format("{}: is an input of this command, and would be overwritten", file.string()));
      }
      if (!std::filesystem::is_directory(value, error)) continue;
      for (const auto& entry : std::filesystem::directory_iterator(value, error)) {
        if (!is_of_a_model(entry.path()) || !is_same(entry.path(), file)) continue;
        throw CLI::ValidationError(
            option, fmt::format("{}: is part of the model {}, and would be overwritten", file.string(), value));
      }
    }
  }
}

void check_ending(const std::string& option, const std::filesystem::path& file,
                  const std::vector<std::string>& endings) {
  if (std::ranges::find(endings, file.extension().string()) != endings.end()) return;
  throw CLI::ValidationError(option, fmt::format("{}: what is written is {}, so that must be its ending", file.string(),
                                                 fmt::join(endings, " or ")));
}

void add_output_options(CLI::App& app, OutputOptions& options) {
  app.add_option("--format", options.format, "output format; with -o, the file extension decides by default")
      ->check(one_of({"table", "csv", "json"}))
      ->each([&options](const std::string&) { options.format_given = true; })
      ->capture_default_str()
      ->group("Output");
  app.add_option("-o,--output", options.file, "save the result to a .json or .csv file; the table is still printed")
      ->type_name("FILE")
      ->each([&options](const std::string&) { options.file_given = true; })
      ->group("Output");
  app.add_option(
         "--rows", options.rows,
         "rows in csv and json: means over seeds, means over samples, or all (default: the highest that there is)")
      ->check(one_of({"seeds", "samples", "all"}))
      ->type_name("LEVEL")
      ->group("Output");
  app.add_flag("--plot", options.plot, "also draw the curves as text")->group("Output");
  app.add_flag("-q,--quiet", options.quiet, "print no progress; with -o, print nothing")->group("Output");
  app.parse_complete_callback([&app, &options] {
    check(options);
    if (has_file(options)) check_not_input(app, "--output", options.file);
    check_rows(app, options);
  });
}

Format output_format(const OutputOptions& options) {
  if (has_file(options) && !options.format_given) {
    if (const auto format = format_of_file(options.file)) return *format;
  }
  if (const auto format = format_of_name(options.format)) return *format;
  throw Error(ErrorKind::kUsage, fmt::format("--format {}: expected table, csv or json", options.format));
}

namespace {

RowLevel row_level(const OutputOptions& options) {
  if (options.rows == "seeds") return RowLevel::kSeeds;
  if (options.rows == "samples") return RowLevel::kSamples;
  return options.rows == "all" ? RowLevel::kAll : RowLevel::kHighest;
}

}  // namespace

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) say("note: " + note);
}

void write_result(const Result& result, const OutputOptions& options, TableOptions table) {
  check_mapped_files();
  if (const Host* caller = host()) {
    caller->take(result, table);
    return;
  }
  for (const auto& [key, value] : result.manifest.entries) {
    if (key == "notes") print_notes(std::get<std::vector<std::string>>(value));
  }
  table.plot = table.plot || options.plot;
  table.more = "--format csv or json";
  const Format format = output_format(options);
  std::exception_ptr not_saved;
  if (has_file(options)) {
    try {
      save(format == Format::kTable ? result : at_level(result, row_level(options)), options.file, format, table);
      if (options.quiet) return;
    } catch (const Error&) {
      not_saved = std::current_exception();  // said below, after the table: the result itself is not lost
    }
  }
  if (!has_file(options) && format != Format::kTable) {
    const Result chosen = at_level(result, row_level(options));
    if (options.plot) print_notes({"--plot draws below tables only; --format table has them"});
    print_stdout(format == Format::kCsv ? to_csv(chosen) : to_json(chosen));
    return;
  }
  table.colour = wants_colour(STDOUT_FILENO);
  table.width = terminal_width(STDOUT_FILENO, table.width);
  table.unicode = table.unicode && wants_unicode();
  write_stdout(to_table(result, table));
  if (not_saved) std::rethrow_exception(not_saved);
}

}  // namespace rankfall::cli
