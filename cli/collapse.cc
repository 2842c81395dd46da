#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/conditions.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include <rankfall/collapse.h>
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall::cli {
namespace {

struct CollapseCommand {
  std::vector<std::string> models = {"bert-base@init"};
  CollapseOptions options;
  Index depth = 0;
  VariantOptions variants;
  OutputOptions output;
  std::vector<std::string> fail_if;
  bool no_floats = false;
};

void run(CollapseCommand& command) {
  command.options.variants = chosen_variants(command.variants);
  const auto thresholds = parse_conditions(command.fail_if, "collapse", command.options.variants);
  if (command.depth > 0) command.options.depth = command.depth;
  command.options.floats = !command.no_floats;
  ProgressLine progress(command.output.quiet);
  command.options.progress = progress.callback();
  const Result result = collapse(command.models, command.options);
  progress.clear();
  TableOptions table;
  table.metrics = {"log10_relative_residual.composite"};
  write_result(result, command.output, table);
  check_thresholds(thresholds, result);
}

}  // namespace

void add_collapse_command(CLI::App& app) {
  auto command = std::make_shared<CollapseCommand>();
  CLI::App* sub = app.add_subcommand("collapse", "the exact residual at any depth, far below floating-point rounding");
  sub->footer(
      "The table shows log10 of the relative residual (composite norm); --format csv or json has every norm, the "
      "local\n"
      "exponent, the growth factor, what float32 and float64 show, and each sample.\n"
      "Examples:\n"
      "  rankfall collapse\n"
      "  rankfall collapse bert-tiny@init --depth 24 --plot\n"
      "  rankfall collapse bert-tiny@init --variant san --attention full --attention window:w=8\n"
      "  rankfall collapse path/to/bert-base-uncased --text text.txt --variant san --variant full\n"
      "  rankfall collapse xlnet-base@init --samples 4 --without attn_skip,mlp,norm --format csv\n"
      "  rankfall collapse san:layers=48,heads=4,dim=64,norm=pre,mlp=256 --fail-if "
      "'full:log10_relative_residual.composite@last<-3'");
  sub->add_option("MODEL", command->models, kModelHelp)->capture_default_str();
  add_variant_options(*sub, command->variants);
  sub->add_option(
         "--depth", command->depth,
         "this many blocks: random weights are drawn for as many, those of a checkpoint are used over and over")
      ->check(CLI::Range(1, 10'000));
  sub->add_flag("--no-floats", command->no_floats,
                "do not run float32 and float64 for comparison: a third of the time less");
  sub->add_option("--error-draws", command->options.error_draws,
                  "passes with random changes of 256 roundings, which tell how far each value can be trusted "
                  "(log10_error)")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_input_options(*sub, command->options.input);
  add_seed_option(*sub, command->options.seed);
  add_threads_option(*sub);
  add_fail_if_option(*sub, command->fail_if, "san:log10_relative_residual.composite@last<-3");
  add_output_options(*sub, command->output);
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::cli
