#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/process.h>
#include <rankfall/result.h>

namespace rankfall {

struct EffectivenessOptions {
  std::vector<Index> set_sizes = {5, 20};  // paths of a drawn set
  Index n_draws = 5;                       // sets of each size and length
  std::uint64_t seed = 0;
  std::optional<Index> n_samples;  // unset: all evaluation sequences
  Progress progress;
};

// How well paths of each length alone do the task (Figure 4). A directory is what `rankfall train` writes, or has such
// directories in it (seed-0, seed-1 ...). Rows `accuracy` and `loss` (mean cross-entropy), by `kind`:
//   model        the whole network
//   exact        head(Y_k), Y_k the sum of all frozen paths of length k from every origin
//   cumulative   head(Y_0 + ... + Y_k), which at the largest k is the network
//   rerun        as published: a set of `k` random paths of the length, each run again by itself, summed, LayerNorm
//                without gain, head; mean and deviation over the sets drawn
//   frozen       the same sets, each path as a term of the decomposition
//   baseline.position, baseline.majority   the most frequent label of training, by position or of all (accuracy)
//   ceiling.without_positions              of tokens: equal tokens of a sequence get equal answers (accuracy)
// Rows with a `seed` are of one training; those without are over trainings: mean and deviation of their means.
// Throws Error: kInput on files, kUsage when a directory's task has no labels.
RANKFALL_API Result effectiveness(std::span<const std::string> directories, const EffectivenessOptions& options);

}  // namespace rankfall
