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

struct CollapseOptions {
  // Empty: the four variants of the paper, as labelled.
  std::vector<Variant> variants;
  // Another number of blocks: drawn weights are drawn for as many, those of a checkpoint repeat.
  std::optional<Index> depth;
  // Passes with random changes of 256 roundings, from which log10_error comes; at least one.
  Index error_draws = 3;
  // Also log10 of the arithmetic mean over samples of the relative residual: rows log10_mean_relative_residual.NORM.
  bool arithmetic = false;
  bool floats = true;       // what float32 and float64 show, too
  bool each_sample = true;  // rows for each sample beside those over all
  std::uint64_t seed = 0;
  InputOptions input;

  Progress progress;
};

// The residual of every hidden state, exact at any depth (docs/math.md). Rows of kind "exact", over samples and, with
// `sample` set, for each: log10_residual.*, log10_relative_residual.*, local_exponent, growth_factor, and log10_error,
// what double precision leaves uncertain in log10_residual.composite (over samples: the largest). Rows of kind "f32"
// and "f64": the same residuals as these precisions show them. Rows without a layer: `decay`, the law as status, for
// the absolute and the relative residual, and `rounding_layer`, the first at which f32 or f64 is off by more than 12 %.
RANKFALL_API Result collapse(std::span<const std::string> models, const CollapseOptions& options);

// The same for one open model and given samples; depth, seed and input of the options are not used.
RANKFALL_API Result collapse(const Model& model, std::span<const Sample> samples, const CollapseOptions& options);

}  // namespace rankfall
