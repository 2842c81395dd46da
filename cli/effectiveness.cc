#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/conditions.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include <rankfall/effectiveness.h>
#include <rankfall/report.h>

namespace rankfall::cli {
namespace {

struct EffectivenessCommand {
  std::vector<std::string> directories;
  EffectivenessOptions options;
  std::vector<std::string> fail_if;
  OutputOptions output;
};

void run(EffectivenessCommand& command) {
  const auto thresholds = parse_conditions(command.fail_if, "effectiveness");
  ProgressLine progress(command.output.quiet);
  command.options.progress = progress.callback();
  const Result result = effectiveness(command.directories, command.options);
  progress.clear();
  write_result(result, command.output, {});
  check_thresholds(thresholds, result);
}

}  // namespace

void add_effectiveness_command(CLI::App& app) {
  auto command = std::make_shared<EffectivenessCommand>();
  EffectivenessOptions& options = command->options;
  CLI::App* sub =
      app.add_subcommand("effectiveness", "how well paths of each length alone do a trained network's task");
  sub->footer(
      "Accuracy and loss by path length: of sets of random paths, run again as published and as terms of the\n"
      "decomposition; of the exact sum over all paths of a length; and of all up to a length, which ends at the "
      "network.\n"
      "Examples:\n"
      "  rankfall train sort -o sorted && rankfall effectiveness sorted\n"
      "  rankfall train hull -o hulls --seeds 3 && rankfall effectiveness hulls");
  sub->add_option("DIR", command->directories, "what rankfall train wrote: a training, or several as DIR/seed-*")
      ->required();
  sub->add_option("--paths", options.set_sizes, "paths of a set")
      ->check(CLI::Range(1, 10'000))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  sub->add_option("--draws", options.n_draws, "sets of each size and length")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  sub->add_option("--samples", options.n_samples, "evaluation sequences")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str("all");
  add_seed_option(*sub, options.seed);
  add_threads_option(*sub);
  add_fail_if_option(*sub, command->fail_if, "accuracy<0.1");
  add_output_options(*sub, command->output);
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::cli
