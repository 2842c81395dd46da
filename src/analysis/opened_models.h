#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/provenance.h"
#include <rankfall/model.h>
#include <rankfall/progress.h>

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

// The rows of one variant of a model; progress is its own.
using VariantRows = std::function<std::vector<Row>(const Model& model, const Variant& variant,
                                                   std::span<const Sample> samples, const Progress& progress)>;

// Adds the rows of every variant, of one model or of all, in order. Errors say which variant of which model. Throws
// Error(kUsage) if there are no samples.
void add_rows(const Model& model, std::span<const Sample> samples, const std::vector<Variant>& variants,
              const VariantRows& rows, const Progress& progress, Result& result);
void add_rows(const OpenedModels& opened, const std::vector<Variant>& variants, const VariantRows& rows,
              const Progress& progress, Result& result);

}  // namespace rankfall
