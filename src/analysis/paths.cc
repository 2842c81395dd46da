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

VariantRows rows_of(const PathsOptions& options) {
  return [&options](const Model& model, const Variant& variant, std::span<const Sample> samples,
                    const Progress& progress) {
    const std::vector<View> views = views_of(options);
    const PathsJob job{&model, &variant, apply(variant, model.network), samples, &options};
    std::vector<Row> rows;
    for (std::size_t v = 0; v < views.size(); ++v) {
      const Progress part = part_of(progress, static_cast<double>(v), static_cast<double>(views.size()), "");
      std::ranges::move(views[v](job, part), std::back_inserter(rows));
    }
    return rows;
  };
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
  add_rows(model, samples, variants_of(options), rows_of(options), options.progress, result);
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
  add_rows(opened, variants_of(options), rows_of(options), options.progress, result);
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
