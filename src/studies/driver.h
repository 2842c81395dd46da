#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/memory.h"
#include "studies/provenance.h"
#include <rankfall/model.h>
#include <rankfall/process.h>

// What every study over models and variants shares: opening models and inputs, refusing what can be refused before
// anything is computed, provenance, progress, and the names of model, variant and seed on rows.

namespace rankfall {

// One model, variant and seed.
struct StudyRun {
  const Model& model;
  const Variant& variant;
  const Network& network;  // the variant's
  std::span<const Sample> samples;
  bool drawn_samples = false;         // the samples are random ones that the driver drew
  std::optional<std::uint64_t> seed;  // if there are several
  Progress progress;

  // Sets model, variant and seed of a row; a row that names another variant keeps that. Rows that Study::rows returns
  // are named by the driver.
  void name(Row& row) const;
};

struct Study {
  std::string name;
  std::string precision;  // for the manifest
  std::vector<Variant> variants;
  Manifest manifest;     // further entries
  bool tracked = false;  // needs networks that `track` takes
  Progress progress;

  // Throws on what this study cannot do with a variant's network; `plan` has the sizes of the input, for double.
  // Default: check_memory(network, plan).
  std::function<void(const Model& model, const Network& network, MemoryPlan plan)> check;
  std::function<std::vector<Row>(const StudyRun& run)> rows;
  // With several seeds: the rows over seeds from those of each seed; they come first.
  std::function<std::vector<Row>(const StudyRun& run, std::span<const std::vector<Row>> of_seeds)> over_seeds;
  std::function<std::vector<std::string>(const Model& model, std::span<const Sample> samples)> notes;
  // Is given the result before its first row, when all checks have passed.
  std::function<void(Result& result)> begin;
};

struct StudyInput {
  const InputOptions& input;
  std::uint64_t seed = 0;
  std::optional<Index> n_seeds = {};  // seeds seed, seed + 1, ...; absent: one, and the study knows no others
  std::optional<Index> depth = {};    // number of blocks, as OpenOptions has it
};

// Throws Error(kUsage) on a model that is given twice, no models, no samples, seeds that change nothing, and what the
// study refuses. Errors of a run say which variant of which model.
Result run_study(const Study& study, const Model& model, std::span<const Sample> samples);
Result run_study(const Study& study, std::span<const std::string> models, const StudyInput& input);

struct OpenedModel {
  Model model;
  Inputs inputs;
};

// A model with its samples. `check` is told the size of the inputs, of random ones before they are drawn.
OpenedModel open_with_inputs(const std::string& spec, std::uint64_t seed, const OpenOptions& options,
                             const InputOptions& input,
                             const std::function<void(const Model& model, const InputSize& size)>& check);

}  // namespace rankfall
