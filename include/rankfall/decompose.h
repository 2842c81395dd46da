#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/forward.h>
#include <rankfall/matrix.h>
#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/path.h>
#include <rankfall/sample.h>

// The path decomposition (docs/math.md 3). With the attention matrices and the divisors of the norms frozen at their
// values in the forward pass, a network is affine in its state, and every hidden state is a sum over paths: from an
// origin, at each block through one of its heads or around them. All in double. The rules of forward() for threads,
// BLAS and errors hold.

namespace rankfall {

// --- Sums over all paths of a length ---------------------------------------------------------------------------------

// What origins are kept apart. kEmbedding: only the embedding's paths, then the sum is not the state.
enum class Origins { kMerged, kByBlock, kEmbedding };

// X = sum over o and k of sums[o][k], the sum over all paths of length k (heads crossed since their origin) from
// origins[o]. A matrix without rows is zero, and so are those beyond the end.
struct PathSums {
  std::vector<Origin> origins;
  std::vector<std::vector<Matrix<double>>> sums;

  // 1 + the largest length present.
  RANKFALL_API Index n_lengths() const;
  // The sum over all origins of one length, over all lengths of one origin, and over everything.
  RANKFALL_API Matrix<double> of_length(Index length) const;
  RANKFALL_API Matrix<double> of_origin(std::size_t origin) const;
  RANKFALL_API Matrix<double> total() const;
};

class RANKFALL_API PathSumsObserver {
 public:
  virtual ~PathSumsObserver() = default;
  // Hidden state 0..L of the forward pass, x, and what it is a sum of. References are valid during the call only.
  virtual void hidden(Index state, const MatrixRef<double>& x, const PathSums& sums) = 0;
};

struct Decomposition {
  Matrix<double> x;  // the last state, final norm applied
  PathSums sums;
};

// One observer a sample, or none.  Cost for a length and an origin: one application of attention without queries and
// keys a block, n_tokens x d_model numbers of memory. Parallel over samples, origins and lengths.
RANKFALL_API std::vector<Decomposition> decompose(const Network& network, const WeightSource& weights,
                                                  std::span<const Sample> samples, Origins origins,
                                                  std::span<PathSumsObserver* const> observers,
                                                  const ForwardOptions& options = {});

// --- Single paths ----------------------------------------------------------------------------------------------------

// 1 mean + residual, the rows of the residual summing to zero over what is no padding: the residual keeps its digits
// however small it is beside the mean.
struct CentredMatrix {
  RowVector<double> mean;
  Matrix<double> residual;

  RANKFALL_API Matrix<double> joined() const;
};

struct PathTerm {
  CentredMatrix term;       // P_path X W_path, with the frozen norms between: what the path adds to the output
  CentredMatrix attention;  // P_path, the product of its heads' attention matrices; empty unless asked for
};

struct FollowOptions {
  bool attention = false;  // P_path, too
  // P_path as the published box-plot has it: the product in the opposite order.
  bool published_order = false;
};

// One list of paths a sample; the terms in their order. Memory: all terms of all samples.
RANKFALL_API std::vector<std::vector<PathTerm>> follow(const Network& network, const WeightSource& weights,
                                                       std::span<const Sample> samples,
                                                       std::span<const std::vector<Path>> paths,
                                                       const FollowOptions& follow_options = {},
                                                       const ForwardOptions& options = {});

// The paths whose terms in the output have the largest Frobenius norms, by beam search: at each block the `beam`
// heaviest partial paths are kept. Per sample, descending. With a beam as large as the number of paths it is exact.
struct WeightedPath {
  Path path;
  double norm = 0;
};
RANKFALL_API std::vector<std::vector<WeightedPath>> heaviest(const Network& network, const WeightSource& weights,
                                                             std::span<const Sample> samples, Index beam,
                                                             const ForwardOptions& options = {});

// Every path from every origin. `summarise` makes numbers of what a path adds to the output of each sample, from
// several threads at once; `emit` gets them in a fixed order, from the calling thread. Prefixes are shared. P of all
// layers and all weights of attention are in memory; the number of paths, (H+1)^L and more, is the caller's business.
using SummarisePath = std::function<std::vector<double>(const Path& path, std::span<const CentredMatrix> terms)>;
using EmitPath = std::function<void(const Path& path, std::span<const double> numbers)>;
RANKFALL_API void enumerate(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                            const SummarisePath& summarise, const EmitPath& emit);

// The network that is one path as the published experiments ran it: at each block of the path one head alone, attention
// computed anew from its own state, no skip, a LayerNorm without gain after it; the block's MLP, if any, stays as it
// is; other blocks are left out. The path's origin is the embedding. The final norm stays.
RANKFALL_API Network rerun_network(const Network& network, const Path& path);

// --- Shares from the output backwards --------------------------------------------------------------------------------

// <source, G> for every source and a direction: with G = Y / |Y|^2 at the output these are the shares in Y of all paths
// that begin at, or pass, the source.
struct AdjointShares {
  // [block](head, length): all paths through a head, by the heads crossed from there on, itself included. [block] may
  // be empty.
  std::vector<Matrix<double>> heads;
  // (block, length): MLP and bias; the last row is the final norm's.
  Matrix<double> mlp, bias;
  // (token, length): the embedding of each input token.
  Matrix<double> tokens;
  // (token, length): the mean, over all paths of the length, of row `reach` of P_path; empty unless asked for,
  // and where rows of P are no distributions (LinformerWeights that are not pooled, NystromWeights).
  Matrix<double> reach;
};

struct AdjointOptions {
  bool by_length = true;                      // false: all lengths together, as length 0; dearer by L/2 times if true
  std::optional<Index> reach = std::nullopt;  // an output token; needs by_length
};

// One list of directions a sample, each of the output's shape: G as a function of the output, which it gets.
using Directions = std::function<std::vector<Matrix<double>>(std::size_t sample, const MatrixRef<double>& output)>;

// The directions are taken backwards through the frozen network, block by block; each block runs forward once more from
// its stored input, so that P of one block is alive.
RANKFALL_API std::vector<std::vector<AdjointShares>> adjoint_shares(const Network& network, const WeightSource& weights,
                                                                    std::span<const Sample> samples,
                                                                    const Directions& directions,
                                                                    const AdjointOptions& adjoint = {},
                                                                    const ForwardOptions& options = {});

// What all paths through each of the given heads add to the output together: the rest of the network applied to the
// head's own term.
RANKFALL_API std::vector<std::vector<Matrix<double>>> through_heads(const Network& network, const WeightSource& weights,
                                                                    std::span<const Sample> samples,
                                                                    std::span<const Head> heads,
                                                                    const ForwardOptions& options = {});

}  // namespace rankfall
