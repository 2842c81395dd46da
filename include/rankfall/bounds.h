#pragma once

#include <cstdint>
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

struct BoundsOptions {
  std::vector<Variant> variants;  // empty: the four of the paper, as labelled
  std::uint64_t seed = 0;
  InputOptions input;

  Progress progress;
};

// Every theorem against the measurement, and whether it applies (docs/theory.md). `layer` is a block 0..L-1. What
// enters attention (after a pre-norm) has the residual R about the token mean; the output is before skip and norm.
//
//   beta, by block and head: of the weights alone.  beta, beta_star by block.
//   range, gamma, attention.dobrushin by block and head: means over samples; range of kind "largest", too
//   for each bound NAME, by block (T2.2 and dobrushin_tanh by head), of kind "claimed" or "proved" (T2.3, C3.2_depth
//   and T2.3_depth are claimed and false in general: their status says whether this network violates them), basis
//   kWeights (norms of weights and the residual that enters, known before the data is run) or kData:
//     log10_bound.NAME, log10_measured.NAME   means over samples
//     log10_tightness.NAME                    of measured / bound, the largest of all samples; `status`: kHolds,
//                                             kVacuous, kNotApplicable with its `reason`, kViolated
//   over depth, by state: log10_bound.T2.2_depth and so on, where the network has what they ask for
//   logit_limit, sharpening, sharpening.share by block and head, lambda.measured, .proved, .claimed by block: where
//   they can be computed (docs/theory.md) log10_floor, by state: what no layer up to there can take away of the
//   residual, log10 of the share, the smallest of all samples; absent from the first sub-layer on without a positive
//   lower bound theorem, by `claim`: the gravest status of all its cases; theorem.cases: how many (`mean`) had which
RANKFALL_API Result bounds(std::span<const std::string> models, const BoundsOptions& options);

// The same for one open model and given samples; seed and input of the options are not used.
RANKFALL_API Result bounds(const Model& model, std::span<const Sample> samples, const BoundsOptions& options);

// The rows of proved bounds that are violated: a bug, or a discovery.
RANKFALL_API std::vector<Row> violated_bounds(const Result& result);

}  // namespace rankfall
