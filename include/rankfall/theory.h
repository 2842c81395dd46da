#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input.h>
#include <rankfall/model.h>
#include <rankfall/process.h>
#include <rankfall/result.h>
#include <rankfall/variants.h>

namespace rankfall {

struct Sample;

// How the expectation over an attention's weights is taken: by its closed form where there is one and the logits are
// small, over drawn queries and keys otherwise (kAuto); or always over drawn ones.
enum class TheoryMethod { kAuto, kSampled };

struct TheoryOptions {
  // Empty: the four variants of the paper, as labelled.
  std::vector<Variant> variants;
  // Metrics of hidden states, and gradients, beyond the default ones; names or groups as metric_names() lists them.
  std::vector<std::string> metrics;
  // Another number of blocks.
  std::optional<Index> depth;
  // Only rows of this state, from the end if negative (-1: the last); absent: of all.
  std::optional<Index> at;
  TheoryMethod method = TheoryMethod::kAuto;
  // Drawn heads for each attention, at least, over all chains.
  Index draws = 256;
  // Independent repetitions, from which standard errors come; at least two.
  Index chains = 4;
  // Also measures the network, its weights drawn with seeds seed .. seed + n_seeds - 1 (a checkpoint's are its own).
  bool compare = false;
  Index n_seeds = 1;
  std::uint64_t seed = 0;
  InputOptions input;  // without a number of samples, four random ones

  Progress progress;
};

// What a network does to its tokens in expectation over its random initialisation, from its description alone: the
// limit of infinite width (docs/prediction.md has the formulas, and where the limit fails). Weights of a checkpoint are
// not read: theory is about the same network at random initialisation.
//
// A model's text may be a grid, "san:layers={4,8},heads=2,dim={64..512*2}": it stands for a model of each point, of
// which only the last state has rows, unless `at` says otherwise; without `variants` only the full network is taken. A
// grid of more than 20,000 points is refused.
//
// Rows have the names that `measure` and `collapse` give to the measured values, by model, variant and layer, and kind
// "closed" or "sampled". What theory does not carry has a row `theory` with status kNotCarried and its reason; of kind
// "gradient" where only gradients are not carried.
RANKFALL_API Result theory(std::span<const std::string> models, const TheoryOptions& options);

// The same for one open model and given samples; depth, seed, input and compare are not used.
RANKFALL_API Result theory(const Model& model, std::span<const Sample> samples, const TheoryOptions& options);

}  // namespace rankfall
