#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/manual.h"
#include "cli/streams.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/model.h>
#include <rankfall/version.h>

// What people type before they know the command: help, version, models.

namespace rankfall::cli {
namespace {

// What --help prints of it. App::help() would answer for the command that is running.
std::string help_of(const CLI::App& app, const std::string& name) {
  return app.get_formatter()->make_help(&app, name, CLI::AppFormatMode::Normal);
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

std::string model_list() {
  std::string out = "Released architectures with random weights, drawn from --seed:\n";
  for (const std::string& name : preset_names()) {
    const auto sizes = open_model(name + "@init", 0).network.sizes;
    out += fmt::format("  {:<18} {:>2} layers of {:>2} heads, width {}\n", name + "@init", sizes.n_blocks,
                       sizes.n_heads, sizes.d_model);
  }
  out +=
      "Also accepted as MODEL:\n"
      "  DIR                trained weights: a directory with config.json and model.safetensors,\n"
      "                     as `hf download openai-community/gpt2 --local-dir gpt2` makes it\n"
      "  DIR@init           the architecture of its config.json with random weights\n"
      "  san:layers=12,heads=12,dim=768,...\n"
      "                     an architecture described by a few numbers\n";
  return out;
}

}  // namespace

void bind_models(CLI::App& sub) {
  sub.footer("Example:\n  rankfall models");
  sub.callback([] { write_stdout(model_list()); });
}

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
