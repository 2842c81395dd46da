#include "cli/help.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/manual.h"
#include "cli/terminal.h"
#include <rankfall/version.h>

namespace rankfall::cli {
namespace {

constexpr std::size_t kMargin = 2;
constexpr std::size_t kColumn = 28;  // columns before the descriptions
constexpr std::size_t kMainOptions = 10;
constexpr std::size_t kMainExamples = 3;

// The options that people look for, most wanted first; -h shows the first ten of these that a command has.
constexpr std::string_view kMain[] = {
    "--output",  "--variant",   "--without",   "--depth",  "--only",       "--heads",     "--top",
    "--to",      "--claims",    "--check",     "--layers", "--text",       "--ids",       "--pixels",
    "--tokens",  "--samples",   "--metrics",   "--seeds",  "--attentions", "--attention", "--full",
    "--quick",   "--paths",     "--draws",     "--epochs", "--lr",         "--dim",       "--resume",
    "--monitor", "--format",    "--title",     "--charts", "--fail-if",    "--precision", "--seed",
    "--rounds",  "--reference", "--positions", "--plot",   "--threads",    "--quiet",
};

std::size_t screen_width() {
  constexpr int kNarrowest = 50;
  constexpr int kWidest = 100;
  return static_cast<std::size_t>(std::clamp(terminal_width(STDOUT_FILENO, kWidest), kNarrowest, kWidest));
}

// Words in lines of the screen's width, each after the first behind `indent` blanks; `column` is where the text begins.
std::string wrapped(std::string_view text, std::size_t column, std::size_t indent) {
  const std::size_t width = screen_width();
  std::string out;
  bool first = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!first && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) out += ' ';
    column += word.size() + (first ? 0 : 1);
    out += word;
    first = false;
  }
  return out + '\n';
}

std::string entry(const std::string& name, std::string_view description) {
  std::string out = std::string(kMargin, ' ') + name;
  if (description.empty()) return out + '\n';
  if (out.size() + kMargin > kColumn) out += '\n' + std::string(kColumn, ' ');
  if (out.size() < kColumn) out.append(kColumn - out.size(), ' ');
  return out + wrapped(description, kColumn, kColumn);
}

// "-o, --output FILE"
std::string title(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true, false);
  const std::string value = value_of(option);
  return fmt::format("{}{}{}", fmt::join(names_of(option), ", "), value.empty() ? "" : " ", value);
}

std::string entry(const CLI::Option& option) {
  std::string text = option.get_description();
  const std::string standard = default_of(option);
  if (!standard.empty() && text.find("default") == std::string::npos) text += fmt::format(" (default {})", standard);
  return entry(title(option), text);
}

bool is_help(const CLI::Option& option) { return option.check_name("-h") || option.check_name("--help"); }

std::string usage(const CLI::App& command, const std::string& name) {
  std::string out = "Usage: " + name;
  for (const CLI::Option* option : options_of(command)) {
    if (!option->get_positional()) continue;
    const std::string word = option->get_name(true, false) + (option->get_items_expected_max() > 1 ? "..." : "");
    out += option->get_required() ? " " + word : " [" + word + "]";
  }
  return out + " [OPTIONS]\n";
}

std::string positionals(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : options_of(command)) {
    if (option->get_positional()) out += entry(*option);
  }
  return out.empty() ? out : "\n" + out;
}

// Lines of a footer that are examples, or that are not.
std::vector<std::string_view> lines_of(std::string_view footer, bool examples) {
  std::vector<std::string_view> lines;
  while (!footer.empty()) {
    const std::string_view line = footer.substr(0, footer.find('\n'));
    footer.remove_prefix(std::min(footer.size(), line.size() + 1));
    if (line.starts_with("Example")) continue;
    if (line.starts_with("  ") == examples) lines.push_back(line);
  }
  return lines;
}

std::string examples(const CLI::App& command, std::size_t at_most) {
  const std::string footer = command.get_footer();
  std::string out;
  for (const std::string_view line : lines_of(footer, true)) {
    if (at_most-- == 0) break;
    out += fmt::format("{}\n", line);
  }
  return out.empty() ? out : "\nExamples:\n" + out;
}

std::string short_help(const CLI::App& command, const std::string& name) {
  std::string out = wrapped(command.get_description() + ".", 0, 0) + "\n" + usage(command, name) + positionals(command);
  std::vector<const CLI::Option*> options = options_of(command);
  std::erase_if(options, [](const CLI::Option* option) { return option->get_positional() || is_help(*option); });
  std::vector<const CLI::Option*> main;
  for (const std::string_view wanted : kMain) {
    for (const CLI::Option* option : options) {
      if (main.size() < kMainOptions && option->check_name(std::string(wanted))) main.push_back(option);
    }
  }
  std::string chosen;
  for (const CLI::Option* option : options) {
    if (std::ranges::find(main, option) != main.end()) chosen += entry(*option);
  }
  if (!chosen.empty())
    out += fmt::format("\n{}\n{}", main.size() < options.size() ? "Main options:" : "Options:", chosen);
  out += examples(command, kMainExamples);
  if (main.size() < options.size()) out += fmt::format("\nAll {} options: {} --help\n", options.size(), name);
  return out;
}

std::string long_help(const CLI::App& command, const std::string& name) {
  std::string out = wrapped(command.get_description() + ".", 0, 0) + "\n" + usage(command, name) + positionals(command);
  std::vector<std::string> groups;
  for (const CLI::Option* option : options_of(command)) {
    if (!option->get_positional() && std::ranges::find(groups, option->get_group()) == groups.end()) {
      groups.push_back(option->get_group());
    }
  }
  for (const std::string& group : groups) {
    out += fmt::format("\n{}:\n", group);
    for (const CLI::Option* option : options_of(command)) {
      if (option->get_group() == group && !option->get_positional() && !is_help(*option)) out += entry(*option);
    }
    if (group == groups.front()) out += entry("-h, --help", "-h: the main options; --help: all of them");
  }
  const std::string footer = command.get_footer();
  std::string notes;
  for (const std::string_view line : lines_of(footer, false)) notes += (notes.empty() ? "" : " ") + std::string(line);
  if (!notes.empty()) out += "\n" + wrapped(notes, 0, 0);
  return out + examples(command, std::string::npos);
}

// Commands in groups; the first example of a group's first command is the group's.
std::string overview(const CLI::App& app) {
  std::string out = fmt::format("{} {}\n", app.get_name(), RANKFALL_VERSION) + wrapped(app.get_description(), 0, 0);
  out += fmt::format("\nUsage: {} COMMAND [MODEL...] [OPTIONS]\n", app.get_name());
  std::string group;
  std::string example;
  const auto end_group = [&] {
    if (!example.empty()) out += fmt::format("  Example:{}\n", example.substr(1));
    example.clear();
  };
  for (const CLI::App* command : commands_of(app)) {
    if (command->get_group() != group) {
      end_group();
      group = command->get_group();
      out += fmt::format("\n{}\n", group);
      const std::string footer = command->get_footer();
      const auto lines = lines_of(footer, true);
      if (!lines.empty()) example = lines.front();
    }
    out += fmt::format("  {:<15}{}", command->get_name(), wrapped(command->get_description(), 17, 17));
  }
  end_group();
  out += '\n';
  constexpr std::size_t kNext = 24;
  for (const auto& [words, description] :
       {std::pair("COMMAND -h", "the main options of a command; --help has all of them"),
        {"models", "what MODEL can be: trained checkpoints, random initialisations"},
        {"metrics", "what is measured, with formulas"}}) {
    out += fmt::format("{:<{}}{}", app.get_name() + " " + words, kNext, wrapped(description, kNext, kNext));
  }
  return out;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (!app->get_parent()) return overview(*app);
  return mode == CLI::AppFormatMode::All ? long_help(*app, name) : short_help(*app, name);
}

void set_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h", "the main options");
  app.set_help_all_flag("--help", "all options");
}

}  // namespace rankfall::cli
