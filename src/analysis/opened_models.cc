#include "analysis/opened_models.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "analysis/part_of.h"
#include <rankfall/error.h>

namespace rankfall {

OpenedModels open_models(std::span<const std::string> models, std::uint64_t seed, std::optional<Index> depth,
                         const InputOptions& input,
                         const std::function<void(const Model& model, const InputSize& size)>& check) {
  if (models.empty()) throw Error(ErrorKind::kUsage, "no model given");
  OpenedModels opened;
  for (const std::string& spec : models) {
    if (std::ranges::find(opened.jobs, spec, [](const OpenedModel& job) { return job.model.name; }) !=
        opened.jobs.end()) {
      throw Error(ErrorKind::kUsage, fmt::format("model '{}' is given twice", spec));
    }
    OpenedModel job;
    job.model = open_model(spec, seed, {depth, input.ignore_unused});
    const Network& network = job.model.network;
    if (!input.from_file()) check(job.model, random_size(network, input));
    job.inputs = open_inputs(network, input_for(job.model, input), seed);
    const InputSize size = size_of(job.inputs.samples);
    check(job.model, size);
    opened.provenance.add(job.model, input, job.inputs.source, size);
    opened.provenance.add_notes(job.inputs.notes);
    opened.jobs.push_back(std::move(job));
  }
  return opened;
}

void add_rows(const Model& model, std::span<const Sample> samples, const std::vector<Variant>& variants,
              const VariantRows& rows, const Progress& progress, Result& result) {
  if (samples.empty()) throw Error(ErrorKind::kUsage, "no samples");
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const Progress part = part_of(progress, static_cast<double>(v), static_cast<double>(variants.size()),
                                  model.name + " " + variants[v].name);
    try {
      std::ranges::move(rows(model, variants[v], samples, part), std::back_inserter(result.rows));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}, variant {}: {}", model.name, variants[v].name, error.what()));
    }
  }
}

void add_rows(const OpenedModels& opened, const std::vector<Variant>& variants, const VariantRows& rows,
              const Progress& progress, Result& result) {
  const auto n_models = static_cast<double>(opened.jobs.size());
  for (std::size_t m = 0; m < opened.jobs.size(); ++m) {
    // The name of model and variant is the part's own.
    Progress part;
    if (progress) {
      part = [&, m](double done, double total, std::string_view what) {
        progress(static_cast<double>(m) + done / total, n_models, what);
      };
    }
    add_rows(opened.jobs[m].model, opened.jobs[m].inputs.samples, variants, rows, part, result);
  }
}

}  // namespace rankfall
