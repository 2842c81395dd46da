#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/conditions.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include <rankfall/bounds.h>
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall::cli {
namespace {

struct BoundsCommand {
  std::vector<std::string> models = {"bert-base@init"};
  BoundsOptions options;
  VariantOptions variants;
  OutputOptions output;
  std::vector<std::string> fail_if;
};

void run(BoundsCommand& command) {
  command.options.variants = chosen_variants(command.variants);
  const auto thresholds = parse_conditions(command.fail_if, "bounds", command.options.variants);
  ProgressLine progress(command.output.quiet);
  command.options.progress = progress.callback();
  const Result result = bounds(command.models, command.options);
  progress.clear();
  write_result(result, command.output, {});
  check_thresholds(thresholds, result);
  std::string broken;
  for (const Row& row : violated_bounds(result)) {
    broken += fmt::format("\n  {} {} block {}{}: {} is 10^{:.3g}", row.model, row.variant, row.layer.value_or(0),
                          row.head ? fmt::format(" head {}", *row.head) : "", row.metric, row.mean.value_or(0));
  }
  if (!broken.empty()) {
    throw Error(ErrorKind::kClaim,
                "proved bounds are violated, which is a bug or a discovery; please report it:" + broken);
  }
}

}  // namespace

void add_bounds_command(CLI::App& app) {
  auto command = std::make_shared<BoundsCommand>();
  CLI::App* sub = app.add_subcommand("bounds", "every theorem against the measurement, and whether it applies");
  sub->footer(
      "Per block: what the theorems allow, beside what is measured, exact far below rounding. --format csv or json "
      "has\n"
      "each head's beta, gamma, range of logits and Dobrushin coefficient, and every bound in log10.\n"
      "Examples:\n"
      "  rankfall bounds bert-base@init --samples 4\n"
      "  rankfall bounds path/to/bert-base-uncased --text text.txt --variant full\n"
      "  rankfall bounds san:layers=4,heads=1,dim=16,norm=none,std=0.05 --variant san");
  sub->add_option("MODEL", command->models, kModelHelp)->capture_default_str();
  add_variant_options(*sub, command->variants);
  add_input_options(*sub, command->options.input);
  add_seed_option(*sub, command->options.seed);
  add_threads_option(*sub);
  add_fail_if_option(*sub, command->fail_if, "log10_tightness.dobrushin>0");
  add_output_options(*sub, command->output);
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::cli
