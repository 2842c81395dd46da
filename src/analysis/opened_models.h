#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/provenance.h"
#include <rankfall/model.h>

namespace rankfall {

struct OpenedModel {
  Model model;
  Inputs inputs;
};

// Models with their samples, and what the manifest says of them.
struct OpenedModels {
  std::vector<OpenedModel> jobs;
  Provenance provenance;
};

// Opens all models and inputs before any long computation, so that what can be refused is refused at once. `check` is
// told each model and the size of its inputs, for random ones before they are drawn; it throws what it does not like.
OpenedModels open_models(std::span<const std::string> models, std::uint64_t seed, std::optional<Index> depth,
                         const InputOptions& input,
                         const std::function<void(const Model& model, const InputSize& size)>& check);

}  // namespace rankfall
