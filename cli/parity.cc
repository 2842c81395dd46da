#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/conditions.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include <rankfall/parity.h>
#include <rankfall/threshold.h>

namespace rankfall::cli {
namespace {

struct ParityCommand {
  std::vector<std::string> models;
  ParityOptions options;
  std::vector<std::string> fail_if;
  OutputOptions output;
};

void run(ParityCommand& command) {
  const auto thresholds = parse_conditions(command.fail_if, "parity");
  ProgressLine progress(command.output.quiet);
  command.options.progress = progress.callback();
  const Result result = parity(command.models, command.options);
  progress.clear();
  write_result(result, command.output);
  check_thresholds(thresholds, result);
}

}  // namespace

void add_parity_command(CLI::App& app) {
  auto command = std::make_shared<ParityCommand>();
  CLI::App* sub = app.add_subcommand("parity", "distance from another implementation's states and attentions");
  sub->footer(
      "Example:\n"
      "  rankfall parity path/to/bert-base-uncased --ids ids.json --reference states.safetensors\n"
      "The reference has hidden_states [L+1, samples, tokens, width] and perhaps attentions, as `rankfall capture` "
      "writes them.");
  sub->add_option("MODEL", command->models, "directories with config.json and model.safetensors")->required();
  sub->add_option("--reference", command->options.reference,
                  "states to compare with; default: expected.safetensors in the model's directory")
      ->type_name("FILE");
  add_input_options(*sub, command->options.input);
  add_fail_if_option(*sub, command->fail_if, "parity.hidden.max>1e-4");
  add_threads_option(*sub);
  add_output_options(*sub, command->output);
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::cli
