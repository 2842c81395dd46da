#include "studies/driver.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "base/errors.h"
#include "engine/split/split.h"
#include "result/manifest.h"
#include "studies/part_of.h"

namespace rankfall {
namespace {

void check_study(const Study& study, const Model& model, const InputSize& size) {
  if (study.tracked) check_trackable(model.network, study.variants);
  for (const Variant& variant : study.variants) {
    const Network network = apply(variant, model.network);
    const MemoryPlan plan{.n_samples = size.n_samples, .n_tokens = size.n_tokens, .drawn = model.drawn};
    if (study.check) {
      study.check(model, network, plan);
    } else {
      check_memory(network, plan);
    }
  }
}

Result begin_result(const Study& study) {
  Result result{study.name, run_manifest(study.precision, study.variants), {}};
  std::ranges::copy(study.manifest.entries, std::back_inserter(result.manifest.entries));
  return result;
}

std::vector<Row> named_rows(const Study& study, const StudyRun& run) {
  std::vector<Row> rows;
  try {
    rows = study.rows(run);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}, variant {}: {}", run.model.name, run.variant.name, error.what()));
  }
  for (Row& row : rows) run.name(row);
  return rows;
}

void check_seeds(const StudyInput& input) {
  const Index n_seeds = input.n_seeds.value_or(1);
  if (n_seeds < 1) throw usage_error("{} seeds; expected at least 1", n_seeds);
  if (input.seed > std::numeric_limits<std::uint64_t>::max() - static_cast<std::uint64_t>(n_seeds)) {
    throw usage_error("seed {} and {} seeds go beyond the largest seed", input.seed, n_seeds);
  }
}

// Opens all models and inputs before any long computation, for the first seed.
std::vector<OpenedModel> open_all(const Study& study, std::span<const std::string> models, const StudyInput& input,
                                  Manifest& manifest) {
  if (models.empty()) throw usage_error("no model given");
  const Index n_seeds = input.n_seeds.value_or(1);
  std::vector<OpenedModel> opened;
  Provenance provenance;
  for (const std::string& spec : models) {
    if (std::ranges::count(models, spec) > 1) throw usage_error("model '{}' is given twice", spec);
    const auto check = [&](const Model& model, const InputSize& size) {
      if (n_seeds > 1 && !model.drawn && input.input.is_given()) {
        throw usage_error("{} seeds, but neither the weights of {} nor its inputs are random", n_seeds, model.name);
      }
      check_study(study, model, size);
    };
    const OpenedModel& job = opened.emplace_back(
        open_with_inputs(spec, input.seed, {input.depth, input.input.ignore_unused}, input.input, check));
    provenance.add(job.model, input.input, job.inputs.source, size_of(job.inputs.samples));
    provenance.add_notes(job.inputs.notes);
    if (study.notes) provenance.add_notes(study.notes(job.model, job.inputs.samples));
  }
  provenance.write(manifest);
  return opened;
}

}  // namespace

void StudyRun::name(Row& row) const {
  row.model = model.name;
  if (row.variant.empty()) row.variant = variant.name;
  if (seed) row.seed = seed;
}

OpenedModel open_with_inputs(const std::string& spec, std::uint64_t seed, const OpenOptions& options,
                             const InputOptions& input,
                             const std::function<void(const Model& model, const InputSize& size)>& check) {
  OpenedModel opened{open_model(spec, seed, options), {}};
  const Model& model = opened.model;
  if (!input.is_given()) check(model, random_size(model.network, input));
  opened.inputs = open_inputs(model.network, input_for(model, input), seed);
  check(model, size_of(opened.inputs.samples));
  return opened;
}

Result run_study(const Study& study, const Model& model, std::span<const Sample> samples) {
  if (samples.empty()) throw usage_error("no samples");
  check_study(study, model, size_of(samples));
  Result result = begin_result(study);
  for (std::size_t v = 0; v < study.variants.size(); ++v) {
    const Variant& variant = study.variants[v];
    const Network network = apply(variant, model.network);
    const Progress progress = part_of(study.progress, static_cast<double>(v),
                                      static_cast<double>(study.variants.size()), model.name + " " + variant.name);
    std::ranges::move(named_rows(study, {model, variant, network, samples, false, {}, progress}),
                      std::back_inserter(result.rows));
  }
  return result;
}

Result run_study(const Study& study, std::span<const std::string> models, const StudyInput& input) {
  check_seeds(input);
  Result result = begin_result(study);
  add(result.manifest, "seed", input.seed);
  if (input.n_seeds) add(result.manifest, "seeds", std::int64_t{*input.n_seeds});
  if (input.depth) add(result.manifest, "depth", std::int64_t{*input.depth});
  std::vector<OpenedModel> opened = open_all(study, models, input, result.manifest);
  if (study.begin) study.begin(result);

  const Index n_seeds = input.n_seeds.value_or(1);
  const bool random = !input.input.is_given();
  const double n_runs = static_cast<double>(models.size() * study.variants.size()) * static_cast<double>(n_seeds);
  double n_done = 0;
  for (OpenedModel& next : opened) {
    OpenedModel job = std::move(next);                                       // drawn weights go when the model is done
    std::vector<std::vector<std::vector<Row>>> rows(study.variants.size());  // by variant and seed
    for (Index s = 0; s < n_seeds; ++s) {
      const std::uint64_t seed = input.seed + static_cast<std::uint64_t>(s);
      if (s > 0 && job.model.drawn) {
        job.model = open_model(job.model.name, seed, {input.depth, input.input.ignore_unused});
      }
      if (s > 0 && random) {
        job.inputs = open_inputs(job.model.network, input_for(job.model, input.input), seed);
      }
      for (std::size_t v = 0; v < study.variants.size(); ++v) {
        const Variant& variant = study.variants[v];
        const Network network = apply(variant, job.model.network);
        StudyRun run{job.model, variant, network, job.inputs.samples, random, {}, {}};
        std::string what = job.model.name + " " + variant.name;
        if (n_seeds > 1) {
          run.seed = seed;
          what += fmt::format(" seed {}", seed);
        }
        run.progress = part_of(study.progress, n_done++, n_runs, what);
        rows[v].push_back(named_rows(study, run));
      }
    }
    for (std::size_t v = 0; v < study.variants.size(); ++v) {
      if (n_seeds > 1 && study.over_seeds) {
        const Network network = apply(study.variants[v], job.model.network);
        const StudyRun run{job.model, study.variants[v], network, {}, random, {}, {}};
        for (Row& row : study.over_seeds(run, rows[v])) {
          run.name(row);
          result.rows.push_back(std::move(row));
        }
      }
      for (std::vector<Row>& of_seed : rows[v]) std::ranges::move(of_seed, std::back_inserter(result.rows));
    }
  }
  return result;
}

}  // namespace rankfall
