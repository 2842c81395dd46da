#include "cli/conditions.h"

#include <fmt/format.h>

#include <rankfall/error.h>

namespace rankfall::cli {

void add_fail_if_option(CLI::App& app, std::vector<std::string>& conditions, const std::string& example) {
  app.add_option("--fail-if", conditions,
                 fmt::format("exit with 5 if [VARIANT:]METRIC[@LAYER]>VALUE holds, e.g. '{}'; repeatable", example))
      ->type_name("CONDITION")
      ->allow_extra_args(false);
}

std::vector<Threshold> parse_conditions(const std::vector<std::string>& conditions, std::string_view command,
                                        const std::vector<Variant>& variants, const std::vector<MetricView>& views) {
  std::vector<std::string> names;
  names.reserve(variants.size());
  for (const Variant& variant : variants) names.push_back(variant.name);
  std::vector<Threshold> thresholds;
  for (const std::string& text : conditions) {
    const Threshold& threshold = thresholds.emplace_back(parse_threshold(text));
    check_decidable(threshold, command, names);
    for (const MetricView& view : views) {
      if (view.asked || !threshold.metric.starts_with(view.prefix)) continue;
      throw Error(ErrorKind::kUsage, fmt::format("--fail-if '{}': '{}' is not computed; add {}", to_string(threshold),
                                                 threshold.metric, view.option));
    }
  }
  return thresholds;
}

void check_thresholds(const std::vector<Threshold>& thresholds, const Result& result) {
  std::string broken;
  for (const Threshold& threshold : thresholds) {
    for (const Row& row : violations(threshold, result)) {
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

}  // namespace rankfall::cli
