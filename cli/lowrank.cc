#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/conditions.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/lowrank.h>

namespace rankfall::cli {
namespace {

struct LowrankCommand {
  std::vector<std::string> models = {"bert-base@init"};
  LowrankOptions options;
  VariantOptions variants;
  std::vector<std::string> only;
  std::string lengths = "64,128,256,512,1024,2048,4096";
  OutputOptions output;
  std::vector<std::string> fail_if;
};

void choose_parts(const std::vector<std::string>& only, LowrankOptions& options) {
  if (only.empty()) return;
  const auto chosen = [&](const char* part) { return std::ranges::find(only, part) != only.end(); };
  options.spectra = chosen("spectra");
  options.scaling = chosen("scaling");
  options.sketches = chosen("sketches");
  options.kinds = chosen("kinds");
}

void run(LowrankCommand& command) {
  LowrankOptions& options = command.options;
  choose_parts(command.only, options);
  // Here kinds are what the network's own attention is compared with, no variants.
  for (const std::string& text : command.variants.attention) options.attention.push_back(attention_named(text));
  command.variants.attention.clear();
  options.variants = chosen_variants(command.variants, {variant_named("full")});
  const auto thresholds = parse_conditions(command.fail_if, "lowrank", options.variants,
                                           {{"attention.", options.spectra, "spectra to --only"},
                                            {"scaling.", options.scaling, "scaling to --only"},
                                            {"jl.", options.sketches, "sketches to --only"},
                                            {"state.", options.kinds, "kinds to --only"}});
  options.lengths = parse_indices("--lengths", command.lengths);
  ProgressLine progress(command.output.quiet);
  options.progress = progress.callback();
  const Result result = lowrank(command.models, options);
  progress.clear();
  write_result(result, command.output);
  check_thresholds(thresholds, result);
}

}  // namespace

void add_lowrank_command(CLI::App& app) {
  auto command = std::make_shared<LowrankCommand>();
  LowrankOptions& options = command->options;
  CLI::App* sub = app.add_subcommand("lowrank", "spectra of attention, Johnson-Lindenstrauss, cheaper attention");
  sub->footer(
      "spectra: singular values of every attention matrix P. scaling: sigma_2 of P against the number of tokens.\n"
      "sketches: is P R^T R w near P w for a random R of k rows (Linformer's theorem)? kinds: how far other kinds of\n"
      "attention lead away from the network's own.\n"
      "Examples:\n"
      "  rankfall lowrank bert-tiny@init --samples 4 --lengths 64,128,256\n"
      "  rankfall lowrank path/to/bert-base-uncased --text text.txt --only spectra,kinds\n"
      "  rankfall lowrank bert-tiny@init --only kinds --attention nystrom:m=16 --attention performer:m=64");
  sub->add_option("MODEL", command->models, kModelHelp)->capture_default_str();
  sub->add_option("--only", command->only, "some of spectra, scaling, sketches, kinds, joined by commas")
      ->delimiter(',')
      ->check(one_of({"spectra", "scaling", "sketches", "kinds"}))
      ->type_name("PARTS")
      ->allow_extra_args(false);
  sub->add_option("--eps", options.eps, "numerical rank counts singular values above EPS of the largest")
      ->delimiter(',')
      ->check(CLI::Range(1e-15, 1.0))
      ->type_name("EPS,...")
      ->allow_extra_args(false)
      ->capture_default_str();
  sub->add_option("--lengths", command->lengths, "numbers of tokens, ascending")
      ->type_name("N,...")
      ->capture_default_str();
  sub->add_option("--block", options.block, "whose attention the lengths are about")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  sub->add_option("--sketch-eps", options.sketch_eps, "eps of Johnson-Lindenstrauss")
      ->check(CLI::Range(1e-3, 0.999))
      ->capture_default_str();
  sub->add_option("--draws", options.n_trials, "random R for each length and kind of w")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_variant_options(*sub, command->variants, "full");
  add_input_options(*sub, options.input);
  add_seed_option(*sub, options.seed);
  add_threads_option(*sub);
  add_fail_if_option(*sub, command->fail_if, "attention.sigma2@0>0.5");
  add_output_options(*sub, command->output);
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::cli
