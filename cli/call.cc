#include "cli/call.h"

#include <algorithm>
#include <cctype>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>

namespace rankfall::cli {
namespace {

constexpr const char* kOutput = "Output";

// Every command with options for a result's output gives one.
bool gives_result(const CLI::App& command) { return command.get_option_no_throw("--rows") != nullptr; }

// "--fail-if" -> "fail_if". What a command line repeats is a list in a program, and has a plural.
std::string argument_name(std::string_view option) {
  std::string name(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::ranges::replace(name, '-', '_');
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name == "variant" ? "variants" : name;
}

// What an option may follow: not the rest of somebody's file name.
bool may_precede(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '(' || c == '\'' || c == '`';
}

bool is_of_a_name(char c) { return std::islower(static_cast<unsigned char>(c)) != 0 || c == '-'; }

// The value that stands behind an option, " DIR" or " f64", and not the next word of a sentence: its length.
std::size_t value_behind(std::string_view text) {
  if (!text.starts_with(' ')) return 0;
  std::size_t end = 1;
  while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
  const std::string_view word = text.substr(1, end - 1);
  const bool is_name =
      word.size() > 1 && std::ranges::all_of(word, [](unsigned char c) { return std::isupper(c) != 0; });
  const bool has_digit = std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_name || has_digit ? end : 0;
}

// A text with the command's options as arguments: "--fail-if" -> "fail_if", "--tokenizer DIR" -> "tokenizer=DIR".
std::string with_arguments(const CLI::App& command, std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t at = text.find("--");
    out += text.substr(0, at);
    if (at == text.npos) return out;
    std::size_t end = at + 2;
    while (end < text.size() && is_of_a_name(text[end])) ++end;
    const std::string option(text.substr(at, end - at));
    const bool alone = out.empty() || may_precede(out.back());
    const bool known = alone && end > at + 2 && command.get_option_no_throw(option) != nullptr;
    out += known ? argument_name(option) : option;
    text.remove_prefix(end);
    const std::size_t value = known ? value_behind(text) : 0;
    if (value > 0) {
      out += '=';
      out += text.substr(1, value - 1);
      text.remove_prefix(value);
    }
  }
}

Argument argument_of(const CLI::App& command, const CLI::Option& option) {
  Argument argument;
  const auto& long_names = option.get_lnames();
  argument.option = long_names.empty() ? "" : "--" + long_names.front();
  argument.name = argument_name(long_names.empty() ? option.get_name() : long_names.front());
  argument.help = with_arguments(command, option.get_description());
  argument.value = option.get_expected_min() == 0 ? "" : value_of(option);
  argument.by_default = with_arguments(command, default_of(option));
  argument.group = option.get_group() == "Input" ? "Input" : "";
  argument.required = option.get_required();
  argument.several = option.get_items_expected_max() > 1;
  argument.joined = option.get_delimiter() != '\0';
  return argument;
}

void run(const std::string& name, std::vector<std::string> words) {
  CLI::App app{"", "rankfall"};
  app.require_subcommand(1);
  add_commands(app);
  const auto found =
      app.get_subcommands([&](const CLI::App* each) { return each->get_name() == name && gives_result(*each); });
  if (found.empty()) throw Error(ErrorKind::kUsage, unknown_command(app, name));
  const CLI::App& command = *found.front();
  words.insert(words.begin(), name);
  std::ranges::reverse(words);  // as CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::kUsage, with_arguments(command, parse_reason(app, error)));
  } catch (const Error& error) {
    throw Error(error.kind(), with_arguments(command, with_option_names(error.what())));
  }
}

}  // namespace

std::string with_argument_names(const std::string& text) {
  static const auto app = [] {
    auto made = std::make_unique<CLI::App>("", "rankfall");
    add_commands(*made);
    return made;
  }();
  return with_arguments(*app->get_subcommand("measure"), with_option_names(text));
}

std::vector<Function> functions() {
  CLI::App app{"", "rankfall"};
  add_commands(app);
  std::vector<Function> out;
  for (const CLI::App* command : commands_of(app)) {
    if (!gives_result(*command)) continue;
    Function& function = out.emplace_back();
    function.name = command->get_name();
    function.summary = command->get_description();
    // Examples in the footer are of command lines.
    const std::string footer = command->get_footer();
    function.notes = footer.substr(0, footer.find("Example"));
    for (const CLI::Option* option : options_of(*command)) {
      if (option->get_group() == kOutput || option == command->get_help_ptr() ||
          option->get_name().starts_with("--help")) {
        continue;
      }
      function.arguments.push_back(argument_of(*command, *option));
    }
  }
  return out;
}

void call(const std::string& name, const std::vector<std::string>& words, const Host& host) {
  const HostScope scope(host);
  run(name, words);
}

}  // namespace rankfall::cli
