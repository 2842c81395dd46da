#include "analysis/opened_models.h"

#include <algorithm>

#include <fmt/format.h>

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
    job.model = depth ? open_model(spec, seed, *depth) : open_model(spec, seed);
    const Network& network = job.model.network;
    if (!input.from_file()) check(job.model, random_size(network, input));
    job.inputs = open_inputs(network, input_for(job.model, input), seed);
    const InputSize size = size_of(job.inputs.samples);
    check(job.model, size);
    opened.provenance.add(job.model, job.inputs.source, size);
    opened.provenance.add_notes(job.inputs.notes);
    opened.jobs.push_back(std::move(job));
  }
  return opened;
}

}  // namespace rankfall
