#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/host.h"
#include "cli/progress.h"
#include "cli/streams.h"
#include "cli/study.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/paths.h>

namespace rankfall::cli {
namespace {

struct PathsCommand {
  StudyOptions study;
  PathsOptions options;
  bool lengths = false;
  bool list = false;
  std::string origins = "merged";
};

// Every single path, straight to where the result goes.
void run_list(const PathsCommand& command) {
  if (command.study.models.size() != 1 || command.options.variants.size() != 1) {
    throw Error(ErrorKind::kUsage, "--list is for one model and one variant");
  }
  PathListOptions options;
  options.variant = command.options.variants[0];
  options.seed = command.options.seed;
  options.input = command.options.input;
  // A progress line among rows on a terminal would be a mess.
  const OutputOptions& output = command.study.output;
  ProgressLine progress(output.quiet || output.file.empty() || output.file == "-");
  options.progress = progress.callback();
  if (const Host* caller = host()) {
    Result result;
    list_paths(
        command.study.models[0], options, [&](const Result& head) { result = head; },
        [&](const Row& row) { result.rows.push_back(row); });
    caller->take(result, {});
    return;
  }
  std::unique_ptr<ResultStream> stream;
  list_paths(
      command.study.models[0], options,
      [&](const Result& head) {
        const Format format = output_format(output);
        for (const auto& [key, value] : head.manifest.entries) {
          if (key == "notes") print_notes(std::get<std::vector<std::string>>(value));
        }
        const std::string& file = output.file;
        stream = file.empty() || file == "-"
                     ? std::make_unique<ResultStream>(head, format, print_stdout)
                     : std::make_unique<ResultStream>(head, format, std::filesystem::path(file));
      },
      [&](const Row& row) { stream->add(row); });
  progress.clear();
  stream->finish();
}

void check_sum(const Result& result) {
  if (const auto error = largest_reconstruction_error(result); error && !(*error <= kReconstructionLimit)) {
    throw Error(ErrorKind::kClaim,
                fmt::format("the sum over all paths differs from the forward pass by {:.1e} of it, expected at most "
                            "{:.0e}: double precision does not carry this network's paths, which cancel each other",
                            *error, kReconstructionLimit));
  }
}

void run(PathsCommand& command) {
  PathsOptions& options = command.options;
  options.variants = chosen_variants(command.study.variants, {variant_named("full")});
  options.origins_by_block = command.origins == "layer";
  const bool other = options.heads || options.n_draws > 0 || options.n_top > 0 || options.to;
  if (command.list) {
    if (other || command.lengths || options.interference || options.origins_by_block ||
        !command.study.fail_if.empty()) {
      throw Error(ErrorKind::kUsage, "--list goes alone: it writes every path as it is found");
    }
    run_list(command);
    return;
  }
  options.lengths = command.lengths || !other;
  // A chosen output token is looked at in the first sample, unless a number or a file of samples is given.
  if (options.input.n_samples || options.input.is_given()) options.n_to_samples = std::numeric_limits<Index>::max();
  const bool sums = options.lengths || options.interference || options.origins_by_block;
  StudyCommand study{"paths",
                     options.variants,
                     {{"reconstruction_error", sums, "--lengths"},
                      {"published.", options.as_published && options.n_draws > 0, "--as-published"},
                      {"paths.gram.", options.interference, "--interference"},
                      {"paths.", sums, "--lengths"},
                      {"head.", options.heads, "--heads"},
                      {"mlp.", options.heads, "--heads"},
                      {"path.", options.n_draws > 0 || options.n_top > 0, "--sample or --top"},
                      {"rerun.", options.rerun, "--rerun"},
                      {"token.", options.to.has_value(), "--to"}}};
  study.run = [&](const Progress& progress) {
    options.progress = progress;
    return paths(command.study.models, options);
  };
  study.check = check_sum;
  run_study(command.study, study);
}

}  // namespace

void bind_paths(CLI::App& sub) {
  auto command = std::make_shared<PathsCommand>();
  PathsOptions& options = command->options;
  sub.footer(
      "Without other views: the sums over all paths of each length and origin, for every layer (csv and json) and for\n"
      "the output (table). With attention and norms frozen as in the forward pass these sums add up to it.\n"
      "Examples:\n"
      "  rankfall paths bert-base@init --heads\n"
      "  rankfall paths path/to/bert-base-uncased --text text.txt --heads --top 10\n"
      "  rankfall paths bert-base@init --variant full --variant san+skip --interference\n"
      "  rankfall paths bert-base@init --sample 100 --as-published\n"
      "  rankfall paths gpt2@init --samples 4 --to -1\n"
      "  rankfall paths san:layers=4,heads=3,dim=48 --samples 1 --list --format csv -o paths.csv");
  add_model_option(sub, command->study);
  add_variant_options(sub, command->study.variants, "full");
  constexpr const char* kViews = "Views";
  sub.add_flag("--lengths", command->lengths,
               "contribution of all paths of each length (the default view; give it to add it to others)")
      ->group(kViews);
  sub.add_option("--origins", command->origins,
                 "group origins into embedding, MLPs and biases (merged), or separate them by block (layer)")
      ->check(one_of({"merged", "layer"}))
      ->capture_default_str()
      ->group(kViews);
  sub.add_flag("--interference", options.interference, "inner products between the contributions of different lengths")
      ->group(kViews);
  auto* heads = sub.add_flag("--heads", options.heads, "share of each head and MLP in the output and in its residual")
                    ->group(kViews);
  sub.add_option("--through", options.n_through,
                 "with --heads: also give the norm of all paths through the N largest heads")
      ->check(CLI::Range(0, 10'000))
      ->capture_default_str()
      ->needs(heads)
      ->group(kViews);
  auto* sample = sub.add_option("--sample", options.n_draws, "draw N random paths of each length")
                     ->check(CLI::Range(1, 1'000'000))
                     ->group(kViews);
  sub.add_flag("--as-published", options.as_published,
               "with --sample: also multiply attention in the order and precision of the published box plot")
      ->needs(sample)
      ->group(kViews);
  sub.add_flag("--rerun", options.rerun,
               "with --sample: also run each path as a network by itself, as in the published Figure 4")
      ->needs(sample)
      ->group(kViews);
  auto* top = sub.add_option("--top", options.n_top, "the N paths with the largest norms, by beam search")
                  ->check(CLI::Range(1, 100'000))
                  ->group(kViews);
  sub.add_option("--beam", options.beam, "with --top: partial paths that the search keeps")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str("4 times --top, at least 64")
      ->needs(top)
      ->group(kViews);
  sub.add_flag("--list", command->list, "write every path, one row each, to standard output or -o; at most 10,000,000")
      ->group(kViews);
  sub.add_option("--to", options.to,
                 "which input tokens reach output token TOKEN (-1 for the last), in the first sample")
      ->check(CLI::Range(-16'777'216, 16'777'215))
      ->type_name("TOKEN")
      ->group(kViews);
  add_study_options(sub, command->study, options.input, options.seed, "reconstruction_error>1e-9");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
