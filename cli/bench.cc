#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include <rankfall/bench.h>

namespace rankfall::cli {
namespace {

struct BenchCommand {
  BenchOptions options;
  OutputOptions output;
};

void run(BenchCommand& command) {
  ProgressLine progress(command.output.quiet);
  command.options.progress = progress.callback();
  const Result result = bench(command.options);
  progress.clear();
  write_result(result, command.output);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App* sub = app.add_subcommand("bench", "speed as a share of this machine's own matrix-product peak");
  sub->footer("Example:\n  rankfall bench bert-tiny@init --rounds 3");
  sub->add_option("MODEL", command->options.model, "what `measure` would take")->capture_default_str();
  sub->add_option("--samples", command->options.n_samples, "how many samples")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  sub->add_option("--tokens", command->options.n_tokens, "tokens in each")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  sub->add_option("--rounds", command->options.n_rounds, "how often peak and job alternate")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  add_precision_option(*sub, command->options.precision);
  add_threads_option(*sub);
  add_output_options(*sub, command->output);
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::cli
