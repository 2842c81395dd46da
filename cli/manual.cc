#include "cli/manual.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include <rankfall/metric_info.h>
#include <rankfall/model.h>
#include <rankfall/version.h>

namespace rankfall::cli {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

namespace {

bool takes_value(const CLI::Option& option) { return option.get_type_size_max() != 0; }

// Text as roff shows it.
std::string roff(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

// The names in "TEXT:{table,csv,json}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto begin = type.find('{');
  const auto end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::vector<std::string> out;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string name; std::getline(list, name, ',');) out.push_back(name);
  return out;
}

}  // namespace

std::string value_of(const CLI::Option& option) {
  if (!takes_value(option)) return "";
  constexpr std::size_t kLongest = 24;
  const std::string type = option.get_type_name();
  const std::string name = type.substr(0, type.find(':'));
  const std::string choices = fmt::format("{}", fmt::join(choices_of(option), "|"));
  if (!choices.empty() && (name == "TEXT" || name.empty()) && choices.size() <= kLongest) return choices;
  if (name == "INT" || name == "UINT") return "N";
  if (name == "FLOAT") return "X";
  return name == "TEXT" ? "NAME" : name;
}

std::string default_of(const CLI::Option& option) {
  std::string text = option.get_default_str();
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);  // of a vector
  return text;
}

namespace {

std::string man_option(const CLI::Option& option) {
  std::string out = ".TP\n";
  if (option.get_positional()) {
    out += fmt::format("\\fI{}\\fR\n", roff(option.get_name(true, false)));
  } else {
    std::vector<std::string> names;
    for (const std::string& name : names_of(option)) names.push_back("\\fB" + roff(name) + "\\fR");
    out += fmt::format("{}", fmt::join(names, ", "));
    if (const std::string value = value_of(option); !value.empty()) out += " \\fI" + roff(value) + "\\fR";
    out += "\n";
  }
  out += roff(option.get_description());
  const std::string text = option.get_description();
  if (const std::string usual = default_of(option); !usual.empty() && text.find("default") == std::string::npos) {
    out += roff(fmt::format(" (default {})", usual));
  }
  return out + "\n";
}

std::string man_section(const CLI::App& command) {
  std::string out =
      fmt::format(".SS \"rankfall {}\"\n{}.\n", roff(command.get_name()), roff(command.get_description()));
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : options_of(command)) {
      if (option->get_positional() == positional) out += man_option(*option);
    }
  }
  if (const std::string footer = command.get_footer(); !footer.empty()) out += ".PP\n.nf\n" + roff(footer) + "\n.fi\n";
  return out;
}

constexpr const char* kExitCodes = R"(.SH "EXIT STATUS"
.TP
0
done
.TP
2
the command line cannot be right, or asks for more than the machine has
.TP
3
a file cannot be read or written, or is not what it should be
.TP
4
the numbers leave the range of the precision, or there is not enough memory
.TP
5
the result is there, and a condition that was given (\-\-fail\-if, \-\-compare\-published, audit) is not met
.TP
70
a bug in rankfall
.TP
130
stopped by a signal, everything done so far kept (train, circle)
)";

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : options_of(command)) {
    const auto names = names_of(*option);
    if (std::ranges::find(names, name) != names.end()) return option;
  }
  return nullptr;
}

void add_values(const CLI::Option& option, std::vector<std::string>& out) {
  const auto choices = choices_of(option);
  out.insert(out.end(), choices.begin(), choices.end());
  const std::string type = option.get_type_name();
  const auto names = [&](const char* kind) { return type.find(kind) != std::string::npos; };
  const std::string positional = option.get_name(true, false);
  if (positional == "WORD") return;
  if (positional == "METRIC") {
    for (const MetricInfo& info : all_metric_infos()) {
      if (info.members.empty()) out.push_back(info.name);
      out.insert(out.end(), info.members.begin(), info.members.end());
    }
    return;
  }
  if (choices.empty() && (option.get_positional() || names("FILE") || names("DIR") || names("PATH"))) {
    out.emplace_back("FILES");
  }
  if (positional == "MODEL") {
    for (const std::string& preset : preset_names()) out.push_back(preset + "@init");
  }
}

}  // namespace

std::string man_sections(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : commands_of(app)) {
    if (!is_elsewhere(*command)) out += man_section(*command);
  }
  return out;
}

std::string man_page(const CLI::App& app, const std::string& more) {
  std::string out = fmt::format(".TH RANKFALL 1 \"\" \"rankfall {}\" \"User Commands\"\n", RANKFALL_VERSION);
  out += ".SH NAME\nrankfall \\- " + roff("the reference instrument for rank collapse in transformers") + "\n";
  out += ".SH SYNOPSIS\n.B rankfall\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  out +=
      ".SH DESCRIPTION\n" +
      roff(
          "Measures how the tokens of a transformer become alike with depth: on checkpoints in safetensors files, on "
          "released architectures at random initialisation, on networks described by a few numbers. Results are "
          "printed as a table or written as CSV or JSON; `rankfall report` makes a page of them.") +
      "\n";
  out += ".SH COMMANDS\n" + man_sections(app) + more + kExitCodes;
  out += ".SH ENVIRONMENT\n.TP\nNO_COLOR\n" + roff("if set, tables have no colours") + "\n";
  return out;
}

std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> out;
  const std::string current = words.empty() ? "" : words.back();
  const CLI::App* command = nullptr;
  for (const CLI::App* one : commands_of(app)) {
    if (words.size() > 1 && one->get_name() == words.front()) command = one;
  }
  if (!command) {
    if (words.size() > 1) return {};
    for (const CLI::App* one : commands_of(app)) out.push_back(one->get_name());
    for (const CLI::Option* option : options_of(app)) {
      for (const std::string& name : names_of(*option)) out.push_back(name);
    }
  } else if (const CLI::Option* before = find_option(*command, words[words.size() - 2]);
             before && takes_value(*before)) {
    add_values(*before, out);
  } else if (current.starts_with("-")) {
    for (const CLI::Option* option : options_of(*command)) {
      for (const std::string& name : names_of(*option)) out.push_back(name);
    }
  } else {
    for (const CLI::Option* option : options_of(*command)) {
      if (option->get_positional()) add_values(*option, out);
    }
  }
  std::erase_if(out, [&](const std::string& word) { return word != "FILES" && !word.starts_with(current); });
  return out;
}

}  // namespace rankfall::cli
