#include "cli/usage_errors.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/suggestion.h"
#include "cli/manual.h"

namespace rankfall::cli {
namespace {

// "f32 or f64", "table, csv or json".
std::string alternatives(const std::vector<std::string>& names) {
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  const std::vector<std::string> first(names.begin(), names.end() - 1);
  return fmt::format("{} or {}", fmt::join(first, ", "), names.back());
}

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command)) {
    for (std::string& name : names_of(*option)) names.push_back(std::move(name));
  }
  return names;
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return fmt::format("unknown option '{}'{}", name, did_you_mean(name, option_names(command)));
}

// The parser names options in its sentences as they are declared: "--samples: ...", "FILE is required".
const CLI::Option* option_in(const CLI::App& command, std::string_view sentence) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const std::string_view rest = sentence.starts_with(name) ? sentence.substr(name.size()) : "";
    if (rest.starts_with(":") || rest.starts_with(" ")) return option;
  }
  return nullptr;
}

// "1.500000" as the parser prints it, without the zeros.
std::string short_number(std::string text) {
  if (text.find('.') != text.npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// "--tokens: Value 1.5 not in range 1 to 9", as the parser has it, in plain words.
std::string plain_range(const std::string& text) {
  constexpr std::string_view kValue = ": Value ", kRange = " not in range ", kTo = " to ";
  const std::size_t at = text.find(kValue), range = text.rfind(kRange), to = text.rfind(kTo);
  if (at == text.npos || range == text.npos || to == text.npos || range < at || to < range) return text;
  const std::string value = text.substr(at + kValue.size(), range - at - kValue.size());
  const std::string least = text.substr(range + kRange.size(), to - range - kRange.size());
  const std::string most = text.substr(to + kTo.size());
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool is_number = !value.empty() && *end == '\0';
  const bool is_within = is_number && number >= std::strtod(least.c_str(), nullptr) &&
                         number <= std::strtod(most.c_str(), nullptr);  // then it has a fraction
  return fmt::format("{}: found {}, expected {}{} to {}", text.substr(0, at), is_number ? value : "'" + value + "'",
                     is_within ? "a whole number from " : "", short_number(least), short_number(most));
}

std::string reason(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error) {
  const std::vector<std::string> words = command.remaining();
  // A mistyped option often is why something else is missing: it comes first.
  for (const std::string& word : words) {
    if (word.size() > 1 && word[0] == '-' && word != "--") return unknown_option(command, word);
  }
  if (&command == &app) return words.empty() ? "no command given" : unknown_command(app, words.front());
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && !words.empty()) {
    return fmt::format("unexpected argument '{}'", words.front());
  }
  const CLI::Option* option = option_in(command, error.what());
  if (option && dynamic_cast<const CLI::RequiredError*>(&error)) {
    return fmt::format("{} is missing: {}", option->get_name(), option->get_description());
  }
  if (option && dynamic_cast<const CLI::ArgumentMismatch*>(&error) && option->count() == 0) {
    return fmt::format("{}: its value is missing: {}", option->get_name(), option->get_description());
  }
  if (option && dynamic_cast<const CLI::ArgumentMismatch*>(&error) && option->get_expected_max() == 1) {
    return fmt::format("{} is given twice", option->get_name());
  }
  return plain_range(error.what());
}

}  // namespace

std::string with_option_names(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
      {"InputOptions::n_samples", "--samples"},
      {"InputOptions::n_tokens", "--tokens"},
      {"InputOptions::text", "--text"},
      {"InputOptions::ids", "--ids"},
      {"InputOptions::hidden", "--hidden"},
      {"InputOptions::pixels", "--pixels"},
      {"InputOptions::tokenizer", "--tokenizer DIR"},
      {"InputOptions::special_tokens", "--special-tokens"},
      {"InputOptions::paragraphs", "--paragraphs"},
      {"InputOptions::field", "--field"},
      {"InputOptions::pad", "--pad"},
      {"OpenOptions::ignore_unused", "--ignore-unused"},
      {"MeasureOptions::n_seeds", "--seeds"},
      {"PathsOptions::n_draws", "--sample"},
      {"PathsOptions::n_top", "--top"},
      {"PathsOptions::rerun", "--rerun"},
      {"PathsOptions::as_published", "--as-published"},
      {"Precision::kF64", "--precision f64"},
  };
  for (const auto& [field, option] : kOptions) {
    for (auto at = text.find(field); at != std::string::npos; at = text.find(field, at)) {
      text.replace(at, field.size(), option);
    }
  }
  return text;
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return fmt::format("unknown command '{}'{}", word, did_you_mean(word, names));
}

std::string parse_reason(const CLI::App& app, const CLI::ParseError& error) {
  return reason(app, chosen_command(app), error);
}

std::string parse_failure(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(app);
  return fmt::format("{}\nTry '{}{} --help'.", reason(app, command, error), app.get_name(),
                     &command == &app ? "" : " " + command.get_name());
}

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string list = fmt::format("{{{}}}", fmt::join(names, ","));
  return CLI::Validator(
      [names = std::move(names)](std::string& value) {
        if (std::ranges::find(names, value) != names.end()) return std::string();
        return fmt::format("'{}': expected {}{}", value, alternatives(names), did_you_mean(value, names));
      },
      list);
}

}  // namespace rankfall::cli
