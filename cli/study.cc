#include "cli/study.h"

#include <fmt/format.h>

#include "cli/progress.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/threshold.h>

namespace rankfall::cli {
namespace {

// Error(kUsage), before anything is computed, on a condition that the result cannot decide.
std::vector<Threshold> parse_conditions(const std::vector<std::string>& conditions, const StudyCommand& command) {
  std::vector<std::string> names;
  names.reserve(command.variants.size());
  for (const Variant& variant : command.variants) names.push_back(variant.name);
  std::vector<Threshold> thresholds;
  for (const std::string& text : conditions) {
    const Threshold& threshold = thresholds.emplace_back(for_option("--fail-if", [&] {
      Threshold parsed = parse_threshold(text);
      check_decidable(parsed, command.name, names);
      return parsed;
    }));
    for (const MetricView& view : command.views) {
      if (view.asked || !threshold.metric.starts_with(view.prefix)) continue;
      throw Error(ErrorKind::kUsage, fmt::format("--fail-if '{}': '{}' is not computed; add {}", to_string(threshold),
                                                 threshold.metric, view.option));
    }
  }
  return thresholds;
}

// Error(kClaim) that lists where a condition holds.
void check_thresholds(const std::vector<Threshold>& thresholds, const Result& result) {
  std::string broken;
  for (const Threshold& threshold : thresholds) {
    for (const Row& row : for_option("--fail-if", [&] { return violations(threshold, result); })) {
      const std::string head = row.head ? fmt::format(" head {}", *row.head) : "";
      const std::string layer = row.layer ? fmt::format(" {} {}", row.head ? "block" : "layer", *row.layer) : "";
      const std::string length = row.length ? fmt::format(" length {}", *row.length) : "";
      const std::string origin = row.origin ? " " + to_string(*row.origin) : "";
      const std::string path = row.path ? " " + to_string(*row.path) : "";
      broken += fmt::format("\n  {} {}{}{}{}{}{}: {} = {:.6g}", row.model, row.variant, layer, head, length, origin,
                            path, row.metric, row.mean.value_or(0));
    }
  }
  if (!broken.empty()) throw Error(ErrorKind::kClaim, "--fail-if: the condition holds for" + broken);
}

}  // namespace

void add_model_option(CLI::App& app, StudyOptions& study) {
  app.add_option("MODEL", study.models, kModelHelp)->capture_default_str();
}

void add_study_options(CLI::App& app, StudyOptions& study, const std::string& example) {
  add_threads_option(app);
  app.add_option(
         "--fail-if", study.fail_if,
         fmt::format("exit with status 5 if [VARIANT:]METRIC[@LAYER]>VALUE holds, e.g. '{}'; repeatable", example))
      ->type_name("CONDITION")
      ->allow_extra_args(false);
  add_output_options(app, study.output);
}

void add_study_options(CLI::App& app, StudyOptions& study, InputOptions& input, std::uint64_t& seed,
                       const std::string& example) {
  add_input_options(app, input);
  add_seed_option(app, seed);
  add_study_options(app, study, example);
}

void run_study(const StudyOptions& study, const StudyCommand& command) {
  const std::vector<Threshold> thresholds = parse_conditions(study.fail_if, command);
  ProgressLine progress(study.output.quiet);
  const Result result = command.run(progress.callback());
  progress.clear();
  write_result(result, study.output, command.table);
  check_thresholds(thresholds, result);
  if (command.check) command.check(result);
}

Progress first_half(const Progress& progress) {
  if (!progress) return {};
  return [progress](double done, double total, std::string_view what) { progress(done, 2 * total, what); };
}

Progress second_half(const Progress& progress) {
  if (!progress) return {};
  return [progress](double done, double total, std::string_view what) { progress(total + done, 2 * total, what); };
}

}  // namespace rankfall::cli
