#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input.h>
#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/process.h>
#include <rankfall/result.h>
#include <rankfall/variants.h>

namespace rankfall {

struct Sample;

struct MeasureOptions {
  // Empty: the four variants of the paper, as labelled.
  std::vector<Variant> variants;
  // Metrics beyond the default ones; names or groups as metric_names() lists them.
  std::vector<std::string> metrics;
  Precision precision = Precision::kF32;
  // Also the geometric means of the relative residuals over samples: rows geometric_relative_residual.NORM.
  bool geometric = false;
  // Also 95 % bootstrap intervals over samples, of relative_residual.composite and cosine.mean: rows
  // interval_low.METRIC and interval_high.METRIC. With several seeds also over all of them: seeds are resampled, and in
  // each drawn seed its samples, since samples of one seed share its weights. The resamples depend on the seed alone.
  bool intervals = false;
  std::uint64_t seed = 0;
  // Seeds seed .. seed + n_seeds - 1, each with its own drawn weights and random inputs, as far as these are drawn.
  Index n_seeds = 1;
  InputOptions input;

  Progress progress;
};

// Residuals and rank measures of every hidden state, by variant (docs/math.md has the formulas), and measures of every
// attention matrix when asked for. One row per model, variant, layer (and head) and metric: mean, standard deviation
// and n over the samples. With several seeds there are such rows for each (`seed` is set), and rows over the seeds:
// mean, standard deviation and n of the seeds' means. Values that the precision cannot carry, and all
// that are computed from a state whose residual is rounding, have the status kRoundingFloor.
//
// Gradients (metrics gradient.*) are computed in double, whatever the precision, on the network's own adjoint; a row
// `gradient` of status kNotCarried says why a network has none.
RANKFALL_API Result measure(std::span<const std::string> models, const MeasureOptions& options);

// Measures one open model on given samples; seed, n_seeds and input of the options are not used.
RANKFALL_API Result measure(const Model& model, std::span<const Sample> samples, const MeasureOptions& options);

// A metric that `measure` knows, or a group of them, with the group's members.
struct MetricName {
  std::string name;
  bool by_default = false;
  bool per_head = false;
  std::vector<std::string> members;  // of a group; empty for a single metric
};
RANKFALL_API std::vector<MetricName> metric_names();

// Relative residuals at or below this many machine epsilons of the compute type are rounding, not signal: hidden states
// are rounded to half an epsilon of their entries at each step, and the published float32 floor lies at 1.6.
inline constexpr double kFloorEpsilons = 8;

}  // namespace rankfall
