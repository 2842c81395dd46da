#include "studies/parity/parity.h"

#include <memory>
#include <string>
#include <vector>

#include "cli/study.h"

namespace rankfall::cli {
namespace {

struct ParityCommand {
  std::vector<std::string> models;
  ParityOptions options;
  StudyOptions study;
};

void run(ParityCommand& command) {
  StudyCommand study{"parity"};
  study.run = [&](const Progress& progress) {
    command.options.progress = progress;
    return parity(command.models, command.options);
  };
  run_study(command.study, study);
}

}  // namespace

void bind_parity(CLI::App& sub) {
  auto command = std::make_shared<ParityCommand>();
  sub.footer(
      "Example:\n"
      "  rankfall parity path/to/bert-base-uncased --ids ids.json --reference states.safetensors\n"
      "The reference has hidden_states [L+1, samples, tokens, width] and perhaps attentions, as `rankfall capture` "
      "writes them.");
  sub.add_option("MODEL", command->models, "directories with config.json and model.safetensors")->required();
  sub.add_option("--reference", command->options.reference,
                 "reference states (default: expected.safetensors in the model's directory)")
      ->type_name("FILE");
  add_input_options(sub, command->options.input);
  add_study_options(sub, command->study, "parity.hidden.max>1e-4");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
