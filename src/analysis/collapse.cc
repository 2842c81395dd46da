#include <algorithm>

#include <fmt/format.h>

#include "analysis/collapse_rows.h"
#include "analysis/opened_models.h"
#include "analysis/provenance.h"
#include "input/inputs.h"
#include "model/memory.h"
#include "model/split.h"
#include "result/averaging.h"
#include "result/manifest.h"
#include <rankfall/collapse.h>
#include <rankfall/error.h>

namespace rankfall {
namespace {

std::vector<Variant> variants_of(const CollapseOptions& options) { return variants_or_paper(options.variants); }

VariantRows rows_of(const CollapseOptions& options) {
  return [&options](const Model& model, const Variant& variant, std::span<const Sample> samples,
                    const Progress& progress) {
    return collapse_rows(model.name, variant.name,
                         collapse_curves(apply(variant, model.network), *model.weights, samples, options.floats,
                                         options.error_draws, progress),
                         options.each_sample);
  };
}

void check_size(const Model& model, const CollapseOptions& options, const InputSize& size) {
  check_trackable(model.network, variants_of(options));
  for (const Variant& variant : variants_of(options)) {
    MemoryPlan plan;
    plan.n_samples = size.n_samples;
    plan.n_tokens = size.n_tokens;
    plan.scalar_bytes = sizeof(double);
    plan.drawn = model.drawn;
    check_memory(apply(variant, model.network), plan);
  }
}

// Samples of one token have no residual, and are in no mean.
std::vector<std::string> notes_on(std::span<const Sample> samples) {
  const auto is_single = [](const Sample& sample) {
    return sample.valid.empty() ? sample.n_tokens() == 1 : std::ranges::count(sample.valid, 1) == 1;
  };
  const auto n = std::ranges::count_if(samples, is_single);
  if (n == 0) return {};
  return {fmt::format("{} of {} samples have one token only: they have no residual, and are left out of means", n,
                      samples.size())};
}

Manifest collapse_manifest(const CollapseOptions& options) {
  if (options.error_draws < 1) throw Error(ErrorKind::kUsage, "error_draws must be at least 1");
  Manifest manifest = run_manifest("f64, mean and residual apart", variants_of(options));
  add(manifest, "error_draws", std::int64_t{options.error_draws});
  add(manifest, "mean", std::string(words_of(Averaging::kLogarithms)));
  return manifest;
}

}  // namespace

Result collapse(const Model& model, std::span<const Sample> samples, const CollapseOptions& options) {
  Result result{"collapse", collapse_manifest(options), {}};
  check_size(model, options, size_of(samples));
  add_rows(model, samples, variants_of(options), rows_of(options), options.progress, result);
  return result;
}

Result collapse(std::span<const std::string> models, const CollapseOptions& options) {
  Result result{"collapse", collapse_manifest(options), {}};
  add(result.manifest, "seed", options.seed);
  if (options.depth) add(result.manifest, "depth", std::int64_t{*options.depth});
  OpenedModels opened =
      open_models(models, options.seed, options.depth, options.input,
                  [&](const Model& model, const InputSize& size) { check_size(model, options, size); });
  for (const OpenedModel& job : opened.jobs) opened.provenance.add_notes(notes_on(job.inputs.samples));
  opened.provenance.write(result.manifest);
  add_rows(opened, variants_of(options), rows_of(options), options.progress, result);
  return result;
}

}  // namespace rankfall
