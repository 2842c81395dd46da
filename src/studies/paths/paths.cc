#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/errors.h"
#include "result/manifest.h"
#include "studies/driver.h"
#include "studies/part_of.h"
#include "studies/paths/path_sums.h"
#include "studies/paths/path_views.h"
#include <rankfall/paths.h>

namespace rankfall {
namespace {

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
  if (options.rerun && options.n_draws == 0)
    throw usage_error("paths are run again from random ones: PathsOptions::rerun needs PathsOptions::n_draws");
  if (options.as_published && options.n_draws == 0)
    throw usage_error("PathsOptions::as_published is about random paths: it needs PathsOptions::n_draws");
  if (views_of(options).empty()) throw usage_error("nothing to do: no view of the paths was asked for");
}

// Refuses what does not fit in memory.
void check_paths(const PathsOptions& options, const Network& network, MemoryPlan plan) {
  plan.whole_attention = true;
  const double states = static_cast<double>(network.sizes.n_blocks + 1);
  constexpr double kRowBytes = 13 * 500;  // of all metrics of a sum
  plan.kept_attention = static_cast<double>(network.sizes.n_heads);
  plan.kept_bytes = 200 * states * static_cast<double>(options.n_draws);
  if (options.lengths) {
    plan.kept_bytes += path_sum_bytes(network, plan.n_tokens, options.origins_by_block) +
                       kRowBytes * states * states / 2 * (options.origins_by_block ? states : 4);
  }
  if (options.n_top > 0) plan.kept_states = 3 * static_cast<double>(beam_of(options));
  check_memory(network, plan);
}

std::vector<Row> rows_of_views(const PathsOptions& options, const StudyRun& run) {
  const std::vector<View> views = views_of(options);
  const PathsJob job{run, options};
  std::vector<Row> rows;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const Progress part = part_of(run.progress, static_cast<double>(v), static_cast<double>(views.size()), "");
    std::ranges::move(views[v](job, part), std::back_inserter(rows));
  }
  return rows;
}

Study paths_study(const PathsOptions& options) {
  check_options(options);
  Study study;
  study.name = "paths";
  study.precision = "f64";
  study.variants = variants_or_full(options.variants);
  if (options.n_draws > 0) {
    add(study.manifest, "chained_attention",
        options.as_published ? "P1 P2 ... Pk, as published" : "Pk ... P2 P1, as in the network");
  }
  study.progress = options.progress;
  study.check = [&options](const Model& /*model*/, const Network& network, const MemoryPlan& plan) {
    check_paths(options, network, plan);
  };
  study.notes = [variants = study.variants](const Model& model, std::span<const Sample> /*samples*/) {
    return path_notes(model, variants);
  };
  study.rows = [&options](const StudyRun& run) { return rows_of_views(options, run); };
  return study;
}

}  // namespace

Result paths(const Model& model, std::span<const Sample> samples, const PathsOptions& options) {
  return run_study(paths_study(options), model, samples);
}

Result paths(std::span<const std::string> models, const PathsOptions& options) {
  return run_study(paths_study(options), models, {options.input, options.seed});
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
