#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "cli/output.h"
#include <rankfall/process.h>

// What commands that compute a result share: their options, and the order in which they do things.

namespace rankfall::cli {

struct StudyOptions {
  std::vector<std::string> models = {"bert-base@init"};
  VariantOptions variants;
  std::vector<std::string> fail_if;
  OutputOptions output;
};

// MODEL...
void add_model_option(CLI::App& app, StudyOptions& study);

// --threads, --fail-if, and where the result goes; `example` is a condition that fits the command.
void add_study_options(CLI::App& app, StudyOptions& study, const std::string& example);

// The same after the options of inputs and --seed, for studies over models.
void add_study_options(CLI::App& app, StudyOptions& study, InputOptions& input, std::uint64_t& seed,
                       const std::string& example);

// Metrics that a command computes only when asked.
struct MetricView {
  std::string prefix;  // of their names
  bool asked = false;
  std::string option;  // what asks for them
};

struct StudyCommand {
  std::string_view name;
  std::vector<Variant> variants = {};  // that conditions may name
  std::vector<MetricView> views = {};  // and metrics that they may not, unless asked for
  TableOptions table = {};
  std::function<Result(const Progress& progress)> run = {};
  std::function<void(const Result& result)> check = {};  // throws Error(kClaim)
};

// Progress of the halves of a job of two parts.
Progress first_half(const Progress& progress);
Progress second_half(const Progress& progress);

// Refuses conditions that the result cannot decide; runs the study with a progress line; writes the result; then throws
// Error(kClaim) if a condition holds, or what `check` throws.
void run_study(const StudyOptions& study, const StudyCommand& command);

}  // namespace rankfall::cli
