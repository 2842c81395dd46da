#pragma once

#include <cstdint>
#include <functional>
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

// The path decomposition of models as result rows; decompose.h has the matrices behind them.

namespace rankfall {

struct Sample;

struct PathsOptions {
  std::vector<Variant> variants;  // empty: the full network

  bool lengths = true;            // sums over all paths of each length and origin, for every hidden state
  bool origins_by_block = false;  // MLPs and biases of each block apart
  bool interference = false;      // products between lengths
  bool heads = false;             // shares of every head and MLP
  Index n_through = 10;           // of so many heads the norm of all paths through them, too
  Index n_draws = 0;              // random paths of each length; 0: none
  bool rerun = false;             // ... run again by themselves as well, as in the published Figure 4
  bool as_published = false;      // ... with P_path as in the published box-plot
  Index n_top = 0;                // the heaviest paths; 0: none
  Index beam = 0;                 // partial paths kept for them; 0: as many as are good, at least 64
  std::optional<Index> to;        // which input tokens reach this output token; negative: from the end
  Index n_to_samples = 1;         // ... in so many of the samples

  std::uint64_t seed = 0;
  InputOptions input;

  Progress progress;
};

// Rows (docs/math.md has the formulas), means over samples:
//   by `layer`, `length`, `origin` (embedding, mlp, bias, mlp.3, ..; "all": their sum; without a length: all lengths):
//     paths.count (`exact`), paths.norm.*, paths.residual.*, paths.share.projection, .norm, .residual
//   by `layer`: paths.cancellation, reconstruction_error (kind "largest": of all samples)
//   by `length` and `k`: paths.gram.projection, paths.gram.residual
//   by `layer` (block) and `head`: head.share.projection, head.share.residual, head.norm.frobenius,
//     head.relative_norm.frobenius; by `layer`: mlp.share.*
//   by `length` over drawn paths, kinds q1, median, q3: path.attention.* (as published:
//     path.attention_reversed.*), path.term.*, rerun.*
//   by `path`, `origin`, rank `k`: path.norm.frobenius, path.relative_norm.frobenius, path.share.*
//   by `sample`, `length`, input token `k`: token.reach, token.share.projection, token.share.residual
// Where the residual of the whole is at most the rounding of double (kFloorEpsilons), shares of it are absent, with the
// status kRoundingFloor. Rows of kind "output" are of what the final norm makes of the last state, where that is not
// part of it (ViT).
RANKFALL_API Result paths(std::span<const std::string> models, const PathsOptions& options);

// The same for one open model and given samples; seed counts for drawn paths only, input is not used.
RANKFALL_API Result paths(const Model& model, std::span<const Sample> samples, const PathsOptions& options);

// The largest reconstruction_error of a result; the sum over paths is the forward pass to rounding, so that anything
// above kReconstructionLimit is a bug or a network beyond double precision.
inline constexpr double kReconstructionLimit = 1e-10;
RANKFALL_API std::optional<double> largest_reconstruction_error(const Result& result);

// Every single path of one model, row by row as they are found, in a fixed order: path.norm.frobenius,
// path.relative_norm.frobenius, path.share.projection and path.share.residual of each, means over samples. `begin` gets
// the result without rows before the first of them. Error(kUsage) if there are more than 10^7.
struct PathListOptions {
  Variant variant = variant_named("full");
  std::uint64_t seed = 0;
  InputOptions input;

  Progress progress;
};
RANKFALL_API void list_paths(const std::string& model, const PathListOptions& options,
                             const std::function<void(const Result& begin)>& begin,
                             const std::function<void(const Row& row)>& row);

// n_layers blocks of n_heads heads, each with a skip connection.
struct Architecture {
  std::string name;
  Index n_layers = 1, n_heads = 1;
};

// The nine architectures of the published Figure 5, and MobileBERT as it was released: 24 layers where the paper counts
// 12.
RANKFALL_API std::vector<Architecture> published_architectures();

// From an input there are C(L,k) H^k paths of length k, of (H+1)^L. Rows by `length`: paths.count (exact),
// paths.proportion, paths.cumulative; without: paths.total (exact), paths.mean_length, paths.mode (two rows if two
// lengths are equally frequent). For architectures of the paper also published.proportion, as drawn, and
// published.deviation, the largest distance. Throws Error(kUsage) for sizes below 1 or numbers too long to print.
RANKFALL_API Result counts(std::span<const Architecture> architectures);

// The same for the network of a model; weights are not read.
RANKFALL_API Architecture architecture_of(const std::string& model);

}  // namespace rankfall
