#include "studies/effectiveness/effectiveness.h"

#include <memory>
#include <string>
#include <vector>

#include "cli/study.h"

namespace rankfall::cli {
namespace {

struct EffectivenessCommand {
  std::vector<std::string> directories;
  EffectivenessOptions options;
  StudyOptions study;
};

void run(EffectivenessCommand& command) {
  StudyCommand study{"effectiveness"};
  study.run = [&](const Progress& progress) {
    command.options.progress = progress;
    return effectiveness(command.directories, command.options);
  };
  run_study(command.study, study);
}

}  // namespace

void bind_effectiveness(CLI::App& sub) {
  auto command = std::make_shared<EffectivenessCommand>();
  EffectivenessOptions& options = command->options;
  sub.footer(
      "Accuracy and loss by path length: of sets of random paths, run again as published and as terms of the\n"
      "decomposition; of the exact sum over all paths of a length; and of all up to a length, which ends at the "
      "network.\n"
      "Examples:\n"
      "  rankfall train sort -o sorted && rankfall effectiveness sorted\n"
      "  rankfall train hull -o hulls --seeds 3 && rankfall effectiveness hulls");
  sub.add_option("DIR", command->directories, "what rankfall train wrote: a training, or several as DIR/seed-*")
      ->required();
  sub.add_option("--paths", options.set_sizes, "paths per set")
      ->check(CLI::Range(1, 10'000))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  sub.add_option("--draws", options.n_draws, "sets per size and length")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  sub.add_option("--samples", options.n_samples, "number of evaluation sequences")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str("all");
  add_seed_option(sub, options.seed);
  add_study_options(sub, command->study, "accuracy<0.1");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
