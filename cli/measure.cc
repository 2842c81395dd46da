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
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/measure.h>
#include <rankfall/published.h>
#include <rankfall/report.h>
#include <rankfall/threshold.h>

namespace rankfall::cli {
namespace {

struct MeasureCommand {
  std::vector<std::string> models = {"bert-base@init"};
  std::string residual = "mean";
  MeasureOptions options;
  VariantOptions variants;
  OutputOptions output;
  std::vector<std::string> fail_if;
  bool compare = false;
};

// The metrics a person asked for, after the one that shows collapse at a glance.
std::vector<std::string> shown_metrics(const std::vector<std::string>& asked) {
  std::vector<std::string> shown = {"relative_residual.composite"};
  for (const std::string& name : asked) {
    for (const MetricName& metric : metric_names()) {
      if (metric.name != name) continue;
      const auto members = metric.members.empty() ? std::vector<std::string>{name} : metric.members;
      for (const std::string& member : members) {
        if (std::find(shown.begin(), shown.end(), member) == shown.end()) shown.push_back(member);
      }
    }
  }
  return shown;
}

// Those that are measured only when asked for.
std::vector<MetricView> views_of(const MeasureOptions& options) {
  const std::vector<std::string> asked = shown_metrics(options.metrics);
  std::vector<MetricView> views;
  for (const MetricName& metric : metric_names()) {
    if (metric.by_default || !metric.members.empty()) continue;
    const bool chosen = std::ranges::find(asked, metric.name) != asked.end();
    views.push_back({metric.name, chosen, fmt::format("--metrics {}", metric.name)});
  }
  return views;
}

void run(MeasureCommand& command) {
  if (command.compare) command.variants.as_published = true;
  if (command.residual == "minimiser") command.options.metrics.emplace_back("minimiser");
  command.options.variants = chosen_variants(command.variants);
  const auto thresholds =
      parse_conditions(command.fail_if, "measure", command.options.variants, views_of(command.options));
  if (command.compare) check_comparable(command.models, command.options);

  TableOptions table;
  table.metrics = shown_metrics(command.options.metrics);
  if (command.residual == "minimiser") {  // of the others csv and json have more
    table.metrics = {"relative_residual.composite", "relative_minimal_residual.composite",
                     "minimal_residual_gap.composite"};
  }
  ProgressLine progress(command.output.quiet);
  command.options.progress = progress.callback();
  Result result = measure(command.models, command.options);
  progress.clear();
  if (command.compare) {
    const Agreement agreement = compare_with_published(result);
    result.rows.insert(result.rows.end(), agreement.rows.begin(), agreement.rows.end());
    write_result(result, command.output, table);
    if (!agreement.met) throw Error(ErrorKind::kClaim, "--compare-published: " + agreement.summary);
  } else {
    write_result(result, command.output, table);
  }
  check_thresholds(thresholds, result);
}

}  // namespace

void add_measure_command(CLI::App& app) {
  auto command = std::make_shared<MeasureCommand>();
  CLI::App* sub = app.add_subcommand("measure", "residuals and rank measures by layer and variant (Fig. 2)");
  sub->footer(
      "Examples:\n"
      "  rankfall measure\n"
      "  rankfall measure path/to/bert-base-uncased --random-tokens zipf\n"
      "  rankfall measure bert-tiny@init --variant san --variant full --metrics rank\n"
      "  rankfall measure bert-tiny@init --variant san --attention full --attention nystrom:m=16\n"
      "  rankfall measure san:layers=24,heads=8,dim=512,norm=pre,mlp=2048 --tokens 256 --format csv\n"
      "  rankfall measure bert-base@init albert-base@init xlnet-base@init --seeds 10 --random-tokens zipf "
      "--compare-published");
  sub->add_option("MODEL", command->models, kModelHelp)->capture_default_str();
  add_variant_options(*sub, command->variants);
  sub->add_option(
         "--metrics", command->options.metrics,
         "further metrics, joined by commas: spectral, rank, attention, all, or single names such as rank.stable")
      ->delimiter(',')
      ->allow_extra_args(false);
  sub->add_option("--residual", command->residual,
                  "mean: about the token mean; minimiser: also the true minimum of each norm, with a lower bound and "
                  "the gap between (slow)")
      ->check(one_of({"mean", "minimiser"}))
      ->capture_default_str();
  add_input_options(*sub, command->options.input);
  add_seed_option(*sub, command->options.seed);
  sub->add_option("--seeds", command->options.n_seeds, "repeat with this many seeds, from --seed on")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  add_precision_option(*sub, command->options.precision);
  add_threads_option(*sub);
  add_fail_if_option(*sub, command->fail_if, "cosine.mean@last>0.99");
  sub->add_flag(
      "--compare-published", command->compare,
      "compare with the published Figure 2 at initialisation; implies --as-published; exit 5 if it disagrees");
  add_output_options(*sub, command->output);
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::cli
