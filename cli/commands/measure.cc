#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/study.h"
#include "cli/usage_errors.h"
#include "studies/published/published.h"
#include "studies/theory/predictions.h"
#include <rankfall/error.h>
#include <rankfall/measure.h>
#include <rankfall/model.h>

namespace rankfall::cli {
namespace {

struct MeasureCommand {
  StudyOptions study;
  MeasureOptions options;
  std::string residual = "mean";
  std::string mean = "arithmetic";
  bool theory = false;
  bool compare = false;
  bool ablate = false;
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

// Metrics that are measured only on request.
std::vector<MetricView> views_of(const MeasureOptions& options, bool compare, bool theory) {
  const std::vector<std::string> asked = shown_metrics(options.metrics);
  std::vector<MetricView> views = {{"published.", compare, "--compare-published"},
                                   {"predicted.", theory, "--theory"},
                                   {"geometric_", options.geometric, "--mean log"},
                                   {"interval_", options.intervals, "--interval"}};
  for (const MetricName& metric : metric_names()) {
    if (metric.by_default || !metric.members.empty()) continue;
    const bool chosen = std::ranges::find(asked, metric.name) != asked.end();
    views.push_back({metric.name, chosen, fmt::format("--metrics {}", metric.name)});
  }
  return views;
}

// The variants of --ablate: every part that one of the models has.
std::vector<Variant> ablated_variants(const MeasureCommand& command) {
  const VariantOptions& given = command.study.variants;
  if (!given.named.empty() || !given.without.empty() || given.as_published) {
    throw Error(ErrorKind::kUsage,
                "--ablate chooses the variants; expected no --variant, --without, --as-published or "
                "--compare-published beside it");
  }
  Parts parts;
  for (const std::string& spec : command.study.models) {
    const OpenOptions options{{}, command.options.input.ignore_unused};
    const Parts of_model = parts_of(open_model(spec, command.options.seed, options).network);
    parts.attn_skip = parts.attn_skip || of_model.attn_skip;
    parts.mlp = parts.mlp || of_model.mlp;
    parts.mlp_skip = parts.mlp_skip || of_model.mlp_skip;
    parts.norm = parts.norm || of_model.norm;
  }
  return chosen_variants(given, ablations(parts));
}

void run(MeasureCommand& command) {
  MeasureOptions& options = command.options;
  if (command.compare) command.study.variants.as_published = true;
  if (command.residual == "minimiser") options.metrics.emplace_back("minimiser");
  options.variants = command.ablate ? ablated_variants(command) : chosen_variants(command.study.variants);
  options.geometric = command.mean == "log";

  StudyCommand study{"measure", options.variants, views_of(options, command.compare, command.theory)};
  study.table.metrics = shown_metrics(options.metrics);
  if (command.residual == "minimiser") {  // of the others csv and json have more
    study.table.metrics = {"relative_residual.composite", "relative_minimal_residual.composite",
                           "minimal_residual_gap.composite"};
  }
  if (options.geometric) study.table.metrics.front() = "geometric_relative_residual.composite";
  std::vector<std::string>& shown = study.table.metrics;
  if (options.intervals && std::ranges::find(shown, "cosine.mean") == shown.end()) shown.emplace_back("cosine.mean");
  Agreement agreement;
  study.run = [&](const Progress& progress) {
    if (command.compare) {
      for_option("--compare-published", [&] { check_comparable(command.study.models, options); });
    }
    options.progress = progress;
    if (command.theory) options.progress = first_half(progress);
    Result result = measure(command.study.models, options);
    if (command.theory) {
      add_predictions({command.study.models, options.variants, {}, options.seed, options.input}, second_half(progress),
                      result);
    }
    if (!command.compare) return result;
    agreement = compare_with_published(result);
    result.rows.insert(result.rows.end(), agreement.rows.begin(), agreement.rows.end());
    return result;
  };
  study.check = [&](const Result& /*result*/) {
    if (command.compare && !agreement.met) throw Error(ErrorKind::kClaim, "--compare-published: " + agreement.summary);
  };
  run_study(command.study, study);
}

}  // namespace

void bind_measure(CLI::App& sub) {
  auto command = std::make_shared<MeasureCommand>();
  sub.footer(
      "Examples:\n"
      "  rankfall measure bert-base@init\n"
      "  rankfall measure path/to/bert-base-uncased --text text.txt\n"
      "  rankfall measure path/to/bert-base-uncased --text text.txt --ablate\n"
      "  rankfall measure bert-tiny@init --variant san --variant full --metrics rank\n"
      "  rankfall measure bert-tiny@init --variant san --attention full --attention nystrom:m=16\n"
      "  rankfall measure san:layers=24,heads=8,dim=512,norm=pre,mlp=2048 --tokens 256 --format csv\n"
      "  rankfall measure bert-base@init albert-base@init xlnet-base@init --seeds 10 --random-tokens zipf "
      "--compare-published");
  add_model_option(sub, command->study);
  add_variant_options(sub, command->study.variants);
  sub.add_option("--metrics", command->options.metrics,
                 "further metrics, joined by commas: rank, spectral, attention, gradient, all, or names from rankfall "
                 "metrics")
      ->delimiter(',')
      ->allow_extra_args(false);
  sub.add_option("--residual", command->residual,
                 "distance from the token mean, or also from the closest rank-one matrix (minimiser; slow)")
      ->check(one_of({"mean", "minimiser"}))
      ->capture_default_str();
  sub.add_option("--seeds", command->options.n_seeds, "repeat with N seeds, from --seed on")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  sub.add_flag("--theory", command->theory, "also predict each curve from the description of the network (see theory)");
  sub.add_flag("--ablate", command->ablate,
               "measure the full model, without each of its parts alone, and without all: what prevents collapse?");
  sub.add_option("--mean", command->mean,
                 "mean over samples: arithmetic, or of the logarithms (log), as collapse has it")
      ->check(one_of({"arithmetic", "log"}))
      ->capture_default_str();
  sub.add_flag(
      "--interval", command->options.intervals,
      "also give 95 % bootstrap intervals (over samples; with --seeds over seeds and their samples) of the relative "
      "residual and the mean cosine");
  add_precision_option(sub, command->options.precision);
  sub.add_flag(
      "--compare-published", command->compare,
      "compare with the published Figure 2 at initialisation (implies --as-published); exit status 5 if it disagrees");
  add_study_options(sub, command->study, command->options.input, command->options.seed, "cosine.mean@last>0.99");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
