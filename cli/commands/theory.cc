#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/study.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/measure.h>
#include <rankfall/theory.h>

namespace rankfall::cli {
namespace {

struct TheoryCommand {
  StudyOptions study;
  TheoryOptions options;
  Index depth = 0;
  std::string method = "auto";
  std::string at;
};

void run(TheoryCommand& command) {
  TheoryOptions& options = command.options;
  const VariantOptions& given = command.study.variants;
  const bool any = !given.named.empty() || !given.without.empty() || !given.attention.empty() || given.as_published;
  if (any) options.variants = chosen_variants(given);  // otherwise it depends on whether the model is a grid
  if (command.depth > 0) options.depth = command.depth;
  options.method = command.method == "sampled" ? TheoryMethod::kSampled : TheoryMethod::kAuto;
  if (options.n_seeds > 1) options.compare = true;
  if (command.at == "last") {
    options.at = -1;
  } else if (!command.at.empty()) {
    const std::vector<Index> layers = parse_indices("--at", command.at);
    if (layers.size() != 1) throw Error(ErrorKind::kUsage, "--at: expected one layer, or last");
    options.at = layers.front();
  }
  StudyCommand study{"theory",
                     chosen_variants(given),
                     {{"measured.", options.compare, "--compare"}, {"deviations.", options.n_seeds > 1, "--seeds N"}}};
  study.table.metrics = {"log10_relative_residual.composite"};
  for (const std::string& name : options.metrics) {
    for (const MetricName& metric : metric_names()) {
      if (metric.name != name) continue;
      const auto members = metric.members.empty() ? std::vector<std::string>{name} : metric.members;
      study.table.metrics.insert(study.table.metrics.end(), members.begin(), members.end());
    }
  }
  study.run = [&](const Progress& progress) {
    options.progress = progress;
    return theory(command.study.models, options);
  };
  run_study(command.study, study);
}

}  // namespace

void bind_theory(CLI::App& sub) {
  auto command = std::make_shared<TheoryCommand>();
  sub.footer(
      "Theory takes the expectation over the random weights of a network of infinite width: no weight is drawn or "
      "read.\n"
      "The table shows log10 of the relative residual (composite norm); --format csv or json has every norm, the "
      "cosine\n"
      "and the standard errors. Of a checkpoint, theory is about the same network at random initialisation.\n"
      "Examples:\n"
      "  rankfall theory bert-base@init\n"
      "  rankfall theory bert-mini@init --compare --seeds 5\n"
      "  rankfall theory san:layers=48,heads=8,dim=512 --variant san --plot\n"
      "  rankfall theory path/to/bert-base-uncased --text text.txt --compare --variant full\n"
      "  rankfall theory 'san:layers=64,heads=8,dim=512,qk_std={0.01..0.2*1.5},branch={0..1/5}'\n"
      "  rankfall theory gpt2@init --variant full --fail-if 'full:cosine.mean@last>0.6'");
  add_model_option(sub, command->study);
  add_variant_options(sub, command->study.variants);
  sub.add_flag("--compare", command->options.compare, "also measure the network and say how far theory is off");
  sub.add_option("--seeds", command->options.n_seeds, "number of seeds to measure with --compare")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  sub.add_option("--metrics", command->options.metrics,
                 "more metrics, by name or group: cosine, rank, token, gradient, ... (see rankfall metrics)")
      ->delimiter(',')
      ->allow_extra_args(false);
  sub.add_option("--depth", command->depth, "number of blocks")->check(CLI::Range(1, 10'000));
  sub.add_option("--at", command->at,
                 "only this layer: a number, from the end if negative, or last (the default of a grid)");
  sub.add_option("--method", command->method,
                 "auto: closed forms where logits are small, drawn queries and keys elsewhere; sampled: always drawn")
      ->check(one_of({"auto", "sampled"}))
      ->capture_default_str();
  sub.add_option("--draws", command->options.draws, "heads drawn for each attention, at least")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_study_options(sub, command->study, command->options.input, command->options.seed,
                    "san:log10_relative_residual.composite@last<-3");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
