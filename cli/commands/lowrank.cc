#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/study.h"
#include "cli/usage_errors.h"
#include <rankfall/lowrank.h>

namespace rankfall::cli {
namespace {

struct LowrankCommand {
  StudyOptions study;
  LowrankOptions options;
  std::vector<std::string> only;
  std::string lengths = "64,128,256,512,1024,2048,4096";
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
  for (const std::string& text : command.study.variants.attention) options.attention.push_back(attention_named(text));
  command.study.variants.attention.clear();
  options.variants = chosen_variants(command.study.variants, {variant_named("full")});
  StudyCommand study{"lowrank",
                     options.variants,
                     {{"attention.", options.spectra, "spectra to --only"},
                      {"scaling.", options.scaling, "scaling to --only"},
                      {"jl.", options.sketches, "sketches to --only"},
                      {"state.", options.kinds, "kinds to --only"}}};
  options.lengths = parse_indices("--lengths", command.lengths);
  study.run = [&](const Progress& progress) {
    options.progress = progress;
    return lowrank(command.study.models, options);
  };
  run_study(command.study, study);
}

}  // namespace

void bind_lowrank(CLI::App& sub) {
  auto command = std::make_shared<LowrankCommand>();
  LowrankOptions& options = command->options;
  sub.footer(
      "spectra: singular values of every attention matrix P. scaling: sigma_2 of P against the number of tokens.\n"
      "sketches: is P R^T R w near P w for a random R of k rows (Linformer's theorem)? kinds: how far other kinds of\n"
      "attention lead away from the network's own.\n"
      "Examples:\n"
      "  rankfall lowrank bert-tiny@init --samples 4 --lengths 64,128,256\n"
      "  rankfall lowrank path/to/bert-base-uncased --text text.txt --only spectra,kinds\n"
      "  rankfall lowrank bert-tiny@init --only kinds --attention nystrom:m=16 --attention performer:m=64");
  add_model_option(sub, command->study);
  sub.add_option("--only", command->only, "run only these parts, joined by commas: spectra, scaling, sketches, kinds")
      ->delimiter(',')
      ->check(one_of({"spectra", "scaling", "sketches", "kinds"}))
      ->type_name("PARTS")
      ->allow_extra_args(false);
  sub.add_option("--eps", options.eps, "numerical rank counts singular values above EPS times the largest")
      ->delimiter(',')
      ->check(CLI::Range(1e-15, 1.0))
      ->type_name("EPS,...")
      ->allow_extra_args(false)
      ->capture_default_str();
  sub.add_option("--lengths", command->lengths, "sequence lengths for the scaling law, ascending")
      ->type_name("N,...")
      ->capture_default_str();
  sub.add_option("--block", options.block, "block whose attention is used for the scaling law")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  sub.add_option("--sketch-eps", options.sketch_eps, "relative error that a Johnson-Lindenstrauss sketch may have")
      ->check(CLI::Range(1e-3, 0.999))
      ->capture_default_str();
  sub.add_option("--draws", options.n_trials, "random sketches per length and kind of vector")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_variant_options(sub, command->study.variants, "full");
  add_study_options(sub, command->study, options.input, options.seed, "attention.sigma2@0>0.5");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
