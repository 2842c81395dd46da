#include <algorithm>

#include <fmt/format.h>

#include "base/errors.h"
#include "result/manifest.h"
#include "studies/collapse/collapse_rows.h"
#include "studies/driver.h"
#include <rankfall/collapse.h>
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

// Samples of one token have no residual, and are in no mean.
std::vector<std::string> notes_on(const Model& /*model*/, std::span<const Sample> samples) {
  const auto is_single = [](const Sample& sample) {
    return sample.valid.empty() ? sample.n_tokens() == 1 : std::ranges::count(sample.valid, 1) == 1;
  };
  const auto n = std::ranges::count_if(samples, is_single);
  if (n == 0) return {};
  return {fmt::format("{} of {} samples have one token only: they have no residual, and are left out of means", n,
                      samples.size())};
}

Study collapse_study(const CollapseOptions& options) {
  if (options.error_draws < 1) throw usage_error("error_draws must be at least 1");
  Study study;
  study.name = "collapse";
  study.precision = "f64, mean and residual apart";
  study.variants = variants_or_paper(options.variants);
  add(study.manifest, "error_draws", std::int64_t{options.error_draws});
  add(study.manifest, "mean", std::string(words_of(Averaging::kLogarithms)));
  study.tracked = true;
  study.progress = options.progress;
  study.notes = notes_on;
  study.rows = [&options](const StudyRun& run) {
    return collapse_rows(collapse_curves(run.network, *run.model.weights, run.samples, options.floats,
                                         options.error_draws, run.progress),
                         options.each_sample, options.arithmetic);
  };
  return study;
}

}  // namespace

Result collapse(const Model& model, std::span<const Sample> samples, const CollapseOptions& options) {
  return run_study(collapse_study(options), model, samples);
}

Result collapse(std::span<const std::string> models, const CollapseOptions& options) {
  return run_study(collapse_study(options), models, {options.input, options.seed, {}, options.depth});
}

}  // namespace rankfall
