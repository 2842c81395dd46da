#include <memory>
#include <string>

#include "cli/study.h"
#include "cli/usage_errors.h"
#include "studies/theory/predictions.h"
#include <rankfall/collapse.h>

namespace rankfall::cli {
namespace {

struct CollapseCommand {
  StudyOptions study;
  CollapseOptions options;
  Index depth = 0;
  bool no_floats = false;
  std::string mean = "log";
  bool theory = false;
};

void run(CollapseCommand& command) {
  CollapseOptions& options = command.options;
  options.variants = chosen_variants(command.study.variants);
  if (command.depth > 0) options.depth = command.depth;
  options.floats = !command.no_floats;
  options.arithmetic = command.mean == "arithmetic";
  StudyCommand study{
      "collapse",
      options.variants,
      {{"log10_mean_", options.arithmetic, "--mean arithmetic"}, {"predicted.", command.theory, "--theory"}}};
  study.table.metrics = {options.arithmetic ? "log10_mean_relative_residual.composite"
                                            : "log10_relative_residual.composite"};
  study.run = [&](const Progress& progress) {
    options.progress = command.theory ? first_half(progress) : progress;
    Result result = collapse(command.study.models, options);
    if (command.theory) {
      add_predictions({command.study.models, options.variants, options.depth, options.seed, options.input},
                      second_half(progress), result);
    }
    return result;
  };
  run_study(command.study, study);
}

}  // namespace

void bind_collapse(CLI::App& sub) {
  auto command = std::make_shared<CollapseCommand>();
  sub.footer(
      "The table shows log10 of the relative residual (composite norm); --format csv or json has every norm, the "
      "local\n"
      "exponent, the growth factor, what float32 and float64 show, and each sample.\n"
      "Examples:\n"
      "  rankfall collapse bert-base@init\n"
      "  rankfall collapse bert-tiny@init --depth 24 --plot\n"
      "  rankfall collapse bert-tiny@init --variant san --attention full --attention window:w=8\n"
      "  rankfall collapse path/to/bert-base-uncased --text text.txt --variant san --variant full\n"
      "  rankfall collapse xlnet-base@init --samples 4 --without attn_skip,mlp,norm --format csv\n"
      "  rankfall collapse san:layers=48,heads=4,dim=64,norm=pre,mlp=256 --fail-if "
      "'full:log10_relative_residual.composite@last<-3'");
  add_model_option(sub, command->study);
  add_variant_options(sub, command->study.variants);
  sub.add_option("--depth", command->depth, "number of blocks; a checkpoint's blocks are repeated in order")
      ->check(CLI::Range(1, 10'000));
  sub.add_option(
         "--mean", command->mean,
         "mean over samples: of the logarithms (log), or the logarithm of the arithmetic mean, as measure has it")
      ->check(one_of({"log", "arithmetic"}))
      ->capture_default_str();
  sub.add_flag("--theory", command->theory, "also predict each curve from the description of the network (see theory)");
  sub.add_flag("--no-floats", command->no_floats, "skip the float32 and float64 runs (about a third faster)");
  sub.add_option("--error-draws", command->options.error_draws,
                 "number of perturbed runs that estimate the rounding error of each value (log10_error)")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_study_options(sub, command->study, command->options.input, command->options.seed,
                    "san:log10_relative_residual.composite@last<-3");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
