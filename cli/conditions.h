#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <rankfall/threshold.h>
#include <rankfall/variants.h>

// --fail-if: conditions on results, checked before the work and decided after it.

namespace rankfall::cli {

// --fail-if; `example` is a condition that fits the command.
void add_fail_if_option(CLI::App& app, std::vector<std::string>& conditions, const std::string& example);

// Metrics that a command computes only when asked.
struct MetricView {
  std::string prefix;  // of their names
  bool asked = false;
  std::string option;  // what asks for them
};

// The conditions of a command that will run these variants. Error(kUsage), before anything is computed, on one that its
// result cannot decide.
std::vector<Threshold> parse_conditions(const std::vector<std::string>& conditions, std::string_view command,
                                        const std::vector<Variant>& variants = {},
                                        const std::vector<MetricView>& views = {});

// What becomes of them after the result is written: Error(kClaim) that lists where a condition holds.
void check_thresholds(const std::vector<Threshold>& thresholds, const Result& result);

}  // namespace rankfall::cli
