#include "studies/bench/bench.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/study.h"
#include "studies/layer_costs/layer_costs.h"

namespace rankfall::cli {
namespace {

struct BenchCommand {
  BenchOptions options;
  LayerCostOptions costs;
  std::vector<std::string> attention;
  bool layers = false;
  std::optional<Index> n_rounds;
  StudyOptions study;
};

Result layer_costs_of(BenchCommand& command) {
  LayerCostOptions& costs = command.costs;
  for (const std::string& text : command.attention) costs.attention.push_back(attention_named(text));
  costs.n_rounds = command.n_rounds.value_or(costs.n_rounds);
  costs.precision = command.options.precision;
  return layer_costs(costs);
}

void run(BenchCommand& command) {
  StudyCommand study{"bench"};
  study.run = [&](const Progress& progress) {
    command.options.progress = command.costs.progress = progress;
    command.options.n_rounds = command.n_rounds.value_or(command.options.n_rounds);
    return command.layers ? layer_costs_of(command) : bench(command.options);
  };
  run_study(command.study, study);
}

// Options of `--layers` alone.
void add_layer_options(CLI::App& app, CLI::Option* layers, BenchCommand& command) {
  LayerCostOptions& costs = command.costs;
  app.add_option("--attention", command.attention,
                 fmt::format("with --layers: kinds of attention, repeatable: {}", fmt::join(attention_names(), ", ")))
      ->type_name("KIND")
      ->allow_extra_args(false)
      ->default_str("all")
      ->needs(layers);
  app.add_option("--lengths", costs.tokens, "with --layers: sequence lengths, ascending, at least three")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(16, 1'000'000))
      ->default_str(fmt::format("{}", fmt::join(costs.tokens, ",")))
      ->needs(layers);
  app.add_option("--dim", costs.d_model, "with --layers: width of the layers")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str()
      ->needs(layers);
  app.add_option("--heads", costs.n_heads, "with --layers: number of heads; must divide the width")
      ->check(CLI::Range(1, 4'096))
      ->capture_default_str()
      ->needs(layers);
}

}  // namespace

void bind_bench(CLI::App& sub) {
  auto command = std::make_shared<BenchCommand>();
  sub.footer(
      "Examples:\n"
      "  rankfall bench bert-tiny@init --rounds 3\n"
      "  rankfall bench --layers --dim 64 --heads 4 --lengths 64,128,256");
  CLI::Option* layers = sub.add_flag(
      "--layers", command->layers, "measure one layer of each kind (attention, LSTM, convolution) by sequence length");
  sub.add_option("MODEL", command->options.model, "model to time, as for measure")
      ->capture_default_str()
      ->excludes(layers);
  sub.add_option("--samples", command->options.n_samples, "number of samples")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str()
      ->excludes(layers);
  sub.add_option("--tokens", command->options.n_tokens, "tokens per sample")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str()
      ->excludes(layers);
  sub.add_option("--rounds", command->n_rounds, "number of timing rounds")
      ->check(CLI::Range(1, 1'000))
      ->default_str(fmt::format("{}, with --layers {}", command->options.n_rounds, command->costs.n_rounds));
  add_layer_options(sub, layers, *command);
  add_precision_option(sub, command->options.precision);
  add_threads_option(sub);
  add_output_options(sub, command->study.output);
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
