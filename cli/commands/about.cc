#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/manual.h"
#include "cli/streams.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/version.h>

// What people type before they know the command: help and version.

namespace rankfall::cli {
namespace {

// What --help prints of it. App::help() would answer for the command that is running.
std::string help_of(const CLI::App& app, const std::string& name) {
  return app.get_formatter()->make_help(&app, name, CLI::AppFormatMode::All);
}

void show_help(CLI::App& app, const std::string& word) {
  if (word.empty()) {
    write_stdout(help_of(app, app.get_name()));
    return;
  }
  for (const CLI::App* command : commands_of(app)) {
    if (command->get_name() != word) continue;
    if (is_elsewhere(*command)) {
      app.parse(word + " --help");  // the other program answers
    } else {
      write_stdout(help_of(*command, app.get_name() + " " + word));
    }
    return;
  }
  throw Error(ErrorKind::kUsage, unknown_command(app, word));
}

}  // namespace

void bind_help(CLI::App& sub) {
  auto word = std::make_shared<std::string>();
  sub.add_option("COMMAND", *word, "the command; without it, all of them are listed")->type_name("");
  sub.footer("Examples:\n  rankfall help\n  rankfall help measure");
  sub.callback([&sub, word] { show_help(*sub.get_parent(), *word); });
}

void bind_version(CLI::App& sub) {
  sub.footer("Example:\n  rankfall version");
  sub.callback([] { write_stdout(RANKFALL_VERSION "\n"); });
}

}  // namespace rankfall::cli
