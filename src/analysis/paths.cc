#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "analysis/opened_models.h"
#include "analysis/part_of.h"
#include "analysis/path_sums.h"
#include "analysis/path_views.h"
#include "analysis/provenance.h"
#include "input/inputs.h"
#include "model/memory.h"
#include "result/manifest.h"
#include <rankfall/error.h>
#include <rankfall/paths.h>

namespace rankfall {
namespace {

std::vector<Variant> variants_of(const PathsOptions& options) {
  return options.variants.empty() ? std::vector<Variant>{variant_named("full")} : options.variants;
}

using View = std::vector<Row> (*)(const PathsJob&, const Progress&);

// The views asked for, in the order of their rows.
std::vector<View> views_of(const PathsOptions& options) {
  std::vector<View> views;
  if (options.lengths || options.interference || options.origins_by_block) views.push_back(path_sum_rows);
  if (options.heads) views.push_back(head_rows);
  if (options.n_draws > 0) views.push_back(drawn_path_rows);
  if (options.n_top > 0) views.push_back(top_path_rows);
  if (options.to) views.push_back(token_rows);
  return views;
}

void check_options(const PathsOptions& options) {
  const auto fail = [](const char* text) { throw Error(ErrorKind::kUsage, text); };
  if (options.rerun && options.n_draws == 0) fail("paths are run again from random ones: --rerun needs --sample");
  if (options.as_published && options.n_draws == 0) fail("--as-published is about random paths: it needs --sample");
  if (views_of(options).empty()) fail("nothing to do: no view of the paths was asked for");
}

void check_size(const Model& model, const PathsOptions& options, const InputSize& size) {
  for (const Variant& variant : variants_of(options)) {
    const Network network = apply(variant, model.network);
    MemoryPlan plan;
    plan.n_samples = size.n_samples;
    plan.n_tokens = size.n_tokens;
    plan.scalar_bytes = sizeof(double);
    plan.drawn = model.drawn;
    plan.whole_attention = true;
    const double attention = static_cast<double>(size.n_tokens) * static_cast<double>(size.n_tokens) * sizeof(double) *
                             static_cast<double>(network.sizes.n_heads);
    const double term =
        static_cast<double>(size.n_tokens) * static_cast<double>(network.sizes.d_model) * sizeof(double);
    const double states = static_cast<double>(network.sizes.n_blocks + 1);
    constexpr double kRowBytes = 13 * 500;  // of all metrics of a sum
    plan.extra_bytes = attention;
    if (options.lengths) {
      plan.extra_bytes += path_sum_bytes(network, size.n_tokens, options.origins_by_block) +
                          kRowBytes * states * states / 2 * (options.origins_by_block ? states : 4);
    }
    if (options.n_top > 0) plan.extra_bytes += 3 * term * static_cast<double>(beam_of(options));
    plan.extra_bytes += 200 * states * static_cast<double>(options.n_draws);
    check_memory(network, plan);
  }
}

void add_rows(const Model& model, std::span<const Sample> samples, const PathsOptions& options, double first,
              double count, Result& result) {
  if (samples.empty()) throw Error(ErrorKind::kUsage, "no samples");
  const std::vector<View> views = views_of(options);
  for (const Variant& variant : variants_of(options)) {
    try {
      const PathsJob job{&model, &variant, apply(variant, model.network), samples, &options};
      for (std::size_t v = 0; v < views.size(); ++v) {
        const auto n_views = static_cast<double>(views.size());
        const Progress progress = part_of(options.progress, first + static_cast<double>(v) / n_views, count,
                                          model.name + " " + variant.name, 1 / n_views);
        std::ranges::move(views[v](job, progress), std::back_inserter(result.rows));
      }
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}, variant {}: {}", model.name, variant.name, error.what()));
    }
    ++first;
  }
}

Result begin(const PathsOptions& options) {
  Result result{"paths", run_manifest("f64", variants_of(options)), {}};
  if (options.n_draws > 0) {
    add(result.manifest, "chained_attention",
        options.as_published ? "P1 P2 ... Pk, as published" : "Pk ... P2 P1, as in the network");
  }
  return result;
}

}  // namespace

Result paths(const Model& model, std::span<const Sample> samples, const PathsOptions& options) {
  check_options(options);
  check_size(model, options, size_of(samples));
  Result result = begin(options);
  add_rows(model, samples, options, 0, static_cast<double>(variants_of(options).size()), result);
  return result;
}

Result paths(std::span<const std::string> models, const PathsOptions& options) {
  check_options(options);
  Result result = begin(options);
  add(result.manifest, "seed", options.seed);
  OpenedModels opened =
      open_models(models, options.seed, {}, options.input,
                  [&](const Model& model, const InputSize& size) { check_size(model, options, size); });
  for (const OpenedModel& job : opened.jobs) opened.provenance.add_notes(path_notes(job.model, variants_of(options)));
  opened.provenance.write(result.manifest);
  const double per_model = static_cast<double>(variants_of(options).size());
  for (std::size_t m = 0; m < opened.jobs.size(); ++m) {
    add_rows(opened.jobs[m].model, opened.jobs[m].inputs.samples, options, static_cast<double>(m) * per_model,
             static_cast<double>(opened.jobs.size()) * per_model, result);
  }
  return result;
}

std::optional<double> largest_reconstruction_error(const Result& result) {
  std::optional<double> largest;
  for (const Row& row : result.rows) {
    if (row.metric != "reconstruction_error") continue;
    const double error = row.mean.value_or(INFINITY);  // absent: not a number
    largest = std::max(largest.value_or(0), error);
  }
  return largest;
}

}  // namespace rankfall
