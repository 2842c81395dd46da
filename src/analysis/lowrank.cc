#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "analysis/lowrank_parts.h"
#include "analysis/opened_models.h"
#include "analysis/part_of.h"
#include "analysis/sketches.h"
#include "model/memory.h"
#include "result/manifest.h"
#include <rankfall/error.h>
#include <rankfall/lowrank.h>

namespace rankfall {
namespace {

std::vector<Variant> variants_of(const LowrankOptions& options) {
  return options.variants.empty() ? std::vector{variant_named("full")} : options.variants;
}

void check_options(const LowrankOptions& options) {
  const auto refuse = [](const std::string& text) { throw Error(ErrorKind::kUsage, text); };
  for (const double eps : options.eps) {
    if (!(eps > 0 && eps < 1)) refuse(fmt::format("eps = {} of numerical ranks, expected between 0 and 1", eps));
  }
  if (!(options.sketch_eps > 0 && options.sketch_eps < 1)) {
    refuse(fmt::format("eps = {} of Johnson-Lindenstrauss, expected between 0 and 1", options.sketch_eps));
  }
  if (!(options.failure > 0 && options.failure < 1)) {
    refuse(fmt::format("a failure rate of {}, expected between 0 and 1", options.failure));
  }
  if (options.n_trials < 1) refuse(fmt::format("{} draws, expected at least 1", options.n_trials));
  if ((options.scaling || options.sketches) && options.lengths.empty()) refuse("no lengths given");
  constexpr std::size_t kMostLengths = 64;
  if (options.lengths.size() > kMostLengths) {
    refuse(fmt::format("{} lengths, expected {} at most", options.lengths.size(), kMostLengths));
  }
  for (std::size_t i = 0; i < options.lengths.size(); ++i) {
    if (options.lengths[i] < 2) refuse(fmt::format("a length of {} tokens, expected at least 2", options.lengths[i]));
    if (i > 0 && options.lengths[i] <= options.lengths[i - 1]) refuse("lengths must ascend");
  }
}

bool needs_lengths(const LowrankOptions& options) { return options.scaling || options.sketches; }

MemoryPlan plan_for(const Model& model, const InputSize& size, bool whole) {
  MemoryPlan plan;
  plan.n_samples = size.n_samples;
  plan.n_tokens = size.n_tokens;
  plan.scalar_bytes = sizeof(double);
  plan.drawn = model.drawn;
  plan.whole_attention = whole;
  return plan;
}

// What can be refused is refused before anything is computed.
void check_model(const Model& model, const LowrankOptions& options, const InputSize& size) {
  for (const Variant& variant : variants_of(options)) {
    const Network network = apply(variant, model.network);
    check_memory(network, plan_for(model, size, options.spectra));
    if (!needs_lengths(options)) continue;
    check_memory(network, plan_for(model, {1, options.lengths.back()}, true));
    if (options.block < 0 || options.block >= network.sizes.n_blocks) {
      throw Error(ErrorKind::kUsage, fmt::format("block {}; {} has blocks 0 to {}", options.block, model.name,
                                                 network.sizes.n_blocks - 1));
    }
  }
}

// Enough random samples for the longest length, of lengths that the model takes.
std::vector<Sample> random_tokens(const Network& network, const LowrankOptions& options) {
  const Index longest = options.lengths.back();
  const Index most = network.sizes.max_positions > 0 ? network.sizes.max_positions : longest;
  const Index each = std::min({longest, most, Index{512}});
  const Index usual = random_samples(network, options.seed, 1, each, options.input.token_law)[0].n_tokens();
  return random_samples(network, options.seed, (longest + usual - 1) / usual, each, options.input.token_law);
}

std::vector<Row> variant_rows(const Model& model, const Variant& variant, std::span<const Sample> samples,
                              const LowrankOptions& options, bool random, const Progress& progress) {
  const Network network = apply(variant, model.network);
  const LowrankJob job{model, variant, network, samples, options};
  std::vector<Row> rows;
  const auto append = [&](std::vector<Row> more) { std::ranges::move(more, std::back_inserter(rows)); };
  const auto part = [&](double index) { return part_of(progress, index, 3, "low rank"); };
  if (options.spectra) append(spectrum_rows(job, part(0)));
  if (needs_lengths(options)) {
    const std::vector<Sample> drawn = random ? random_tokens(model.network, options) : std::vector<Sample>();
    LowrankJob of_lengths = {model, variant, network, random ? std::span<const Sample>(drawn) : samples, options};
    const Matrix<double> states = states_of(of_lengths, options.lengths.back());
    const std::vector<AtLength> lengths = look_at_lengths(of_lengths, states, part(1));
    if (options.scaling) append(scaling_rows(of_lengths, lengths));
    if (options.sketches) append(sketch_rows(of_lengths, lengths));
  }
  if (options.kinds) append(kind_rows(job, part(2)));
  return rows;
}

VariantRows rows_by(const LowrankOptions& options, bool random) {
  return [&options, random](const Model& model, const Variant& variant, std::span<const Sample> samples,
                            const Progress& progress) {
    return variant_rows(model, variant, samples, options, random, progress);
  };
}

Manifest manifest_of(const LowrankOptions& options) {
  Manifest manifest = run_manifest("f64", variants_of(options));
  add(manifest, "block", std::int64_t{options.block});
  add(manifest, "sketch_eps", options.sketch_eps);
  add(manifest, "sketch_failure", options.failure);
  add(manifest, "draws", std::int64_t{options.n_trials});
  add(manifest, "seed", options.seed);
  return manifest;
}

}  // namespace

Result lowrank(const Model& model, std::span<const Sample> samples, const LowrankOptions& options) {
  check_options(options);
  check_model(model, options, size_of(samples));
  Result result{"lowrank", manifest_of(options), {}};
  add_rows(model, samples, variants_of(options), rows_by(options, false), options.progress, result);
  return result;
}

Result lowrank(std::span<const std::string> models, const LowrankOptions& options) {
  check_options(options);
  Result result{"lowrank", manifest_of(options), {}};
  const OpenedModels opened =
      open_models(models, options.seed, {}, options.input,
                  [&](const Model& model, const InputSize& size) { check_model(model, options, size); });
  opened.provenance.write(result.manifest);
  add_rows(opened, variants_of(options), rows_by(options, !options.input.from_file()), options.progress, result);
  return result;
}

}  // namespace rankfall
