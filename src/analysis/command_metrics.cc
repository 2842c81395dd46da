#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "analysis/metrics.h"
#include <rankfall/error.h>
#include <rankfall/suggestion.h>
#include <rankfall/threshold.h>

namespace rankfall {
namespace {

// A metric of a command's rows that has values, or a family of them: "log10_bound.*". The tests run every command and
// find its metrics here.
struct CommandMetric {
  std::string_view command, metric;
  bool has_layer = true;

  bool is_family() const { return metric.ends_with('*'); }
  bool holds(std::string_view name) const {
    return is_family() ? name.starts_with(metric.substr(0, metric.size() - 1)) : name == metric;
  }
};

constexpr std::array kCommandMetrics = {
    CommandMetric{"collapse", "log10_relative_residual.composite"},
    CommandMetric{"collapse", "log10_relative_residual.one"},
    CommandMetric{"collapse", "log10_relative_residual.inf"},
    CommandMetric{"collapse", "log10_relative_residual.frobenius"},
    CommandMetric{"collapse", "log10_relative_residual.spectral"},
    CommandMetric{"collapse", "log10_residual.composite"},
    CommandMetric{"collapse", "log10_residual.one"},
    CommandMetric{"collapse", "log10_residual.inf"},
    CommandMetric{"collapse", "log10_residual.frobenius"},
    CommandMetric{"collapse", "log10_residual.spectral"},
    CommandMetric{"collapse", "log10_error"},
    CommandMetric{"collapse", "growth_factor"},
    CommandMetric{"collapse", "local_exponent"},
    CommandMetric{"collapse", "rounding_layer", false},
    CommandMetric{"paths", "reconstruction_error"},
    CommandMetric{"paths", "paths.*"},
    CommandMetric{"paths", "head.*"},
    CommandMetric{"paths", "mlp.*"},
    CommandMetric{"paths", "path.*", false},
    CommandMetric{"paths", "rerun.*", false},
    CommandMetric{"paths", "token.*", false},
    CommandMetric{"bounds", "beta"},
    CommandMetric{"bounds", "beta_star"},
    CommandMetric{"bounds", "gamma"},
    CommandMetric{"bounds", "range"},
    CommandMetric{"bounds", "attention.dobrushin"},
    CommandMetric{"bounds", "log10_bound.*"},
    CommandMetric{"bounds", "log10_measured.*"},
    CommandMetric{"bounds", "log10_tightness.*"},
    CommandMetric{"bounds", "theorem", false},
    CommandMetric{"bounds", "theorem.cases", false},
    CommandMetric{"lowrank", "attention.*"},
    CommandMetric{"lowrank", "scaling.*"},
    CommandMetric{"lowrank", "jl.*"},
    CommandMetric{"lowrank", "state.products", false},
    CommandMetric{"lowrank", "state.distance"},
    CommandMetric{"lowrank", "state.distance.residual"},
    CommandMetric{"effectiveness", "accuracy", false},
    CommandMetric{"effectiveness", "loss", false},
    CommandMetric{"parity", "parity.hidden.max", false},
    CommandMetric{"parity", "parity.hidden.median", false},
    CommandMetric{"parity", "parity.attention.max", false},
    CommandMetric{"parity", "parity.attention.median", false},
};

std::vector<CommandMetric> metrics_of(std::string_view command) {
  std::vector<CommandMetric> metrics;
  if (command == "measure") {
    for (const Metric& metric : all_metrics()) metrics.push_back({"measure", metric.name});
  }
  std::ranges::copy_if(kCommandMetrics, std::back_inserter(metrics),
                       [&](const CommandMetric& metric) { return metric.command == command; });
  return metrics;
}

}  // namespace

void check_decidable(const Threshold& threshold, std::string_view command, const std::vector<std::string>& variants) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::kUsage, fmt::format("--fail-if '{}': {}", to_string(threshold), why));
  };
  const std::vector<CommandMetric> metrics = metrics_of(command);
  const auto metric =
      std::ranges::find_if(metrics, [&](const CommandMetric& known) { return known.holds(threshold.metric); });
  if (metric == metrics.end()) {
    std::vector<std::string> names;
    names.reserve(metrics.size());
    for (const CommandMetric& known : metrics) names.emplace_back(known.metric);
    refuse(fmt::format("{} has no metric '{}'; it has {}{}", command, threshold.metric, fmt::join(names, ", "),
                       did_you_mean(threshold.metric, names)));
  }
  if (!metric->has_layer && (threshold.layer || threshold.last_layer)) {
    refuse("the rows of this metric have no layer; leave out '@'");
  }
  if (threshold.variant.empty() || std::ranges::find(variants, threshold.variant) != variants.end()) return;
  refuse(variants.empty() ? fmt::format("{} has no variants; leave out '{}:'", command, threshold.variant)
                          : fmt::format("there is no variant '{}'; there are {}{}", threshold.variant,
                                        fmt::join(variants, ", "), did_you_mean(threshold.variant, variants)));
}

}  // namespace rankfall
