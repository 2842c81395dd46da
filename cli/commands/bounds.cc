#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/study.h"
#include <rankfall/bounds.h>
#include <rankfall/error.h>

namespace rankfall::cli {
namespace {

struct BoundsCommand {
  StudyOptions study;
  BoundsOptions options;
};

void check_bounds(const Result& result) {
  std::string broken;
  for (const Row& row : violated_bounds(result)) {
    broken += fmt::format("\n  {} {} block {}{}: {} is 10^{:.2f}", row.model, row.variant, row.layer.value_or(0),
                          row.head ? fmt::format(" head {}", *row.head) : "", row.metric, row.mean.value_or(0));
  }
  if (!broken.empty()) {
    throw Error(ErrorKind::kClaim,
                "proved bounds are violated, which is a bug or a discovery; please report it:" + broken);
  }
}

void run(BoundsCommand& command) {
  BoundsOptions& options = command.options;
  options.variants = chosen_variants(command.study.variants);
  StudyCommand study{"bounds", options.variants};
  study.run = [&](const Progress& progress) {
    options.progress = progress;
    return bounds(command.study.models, options);
  };
  study.check = check_bounds;
  run_study(command.study, study);
}

}  // namespace

void bind_bounds(CLI::App& sub) {
  auto command = std::make_shared<BoundsCommand>();
  sub.footer(
      "Per block: what the theorems allow, beside what is measured, exact far below rounding. --format csv or json "
      "has\n"
      "each head's beta, gamma, range of logits and Dobrushin coefficient, and every bound in log10.\n"
      "Examples:\n"
      "  rankfall bounds bert-base@init --samples 4\n"
      "  rankfall bounds path/to/bert-base-uncased --text text.txt --variant full\n"
      "  rankfall bounds san:layers=4,heads=1,dim=16,norm=none,std=0.05 --variant san");
  add_model_option(sub, command->study);
  add_variant_options(sub, command->study.variants);
  add_study_options(sub, command->study, command->options.input, command->options.seed, "log10_tightness.dobrushin>0");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
