#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/kernel/gram.h"
#include "engine/step.h"
#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/process.h>
#include <rankfall/sample.h>

namespace rankfall {

// A sub-layer without its weights: all that theory needs of it.
struct DescribedLayer {
  Index index = 0;
  const SubLayer* layer = nullptr;
};
class DescribedLayers {
 public:
  DescribedLayers(const Network& network, const WeightSource& /*source*/, Index /*max_tokens*/) : network_(network) {}
  const DescribedLayer& load(Index index) {
    current_ = {index, &network_.layers[static_cast<std::size_t>(index)]};
    return current_;
  }

 private:
  const Network& network_;
  DescribedLayer current_;
};

struct KernelOptions {
  // Attention by the closed form wherever there is one and its error is estimated (closed_error) below this; otherwise
  // by drawn queries and keys.
  double closed_below = 0.05;
  // Heads that are drawn for each attention and chain, rounded up to whole attentions.
  Index draws = 64;
  std::uint64_t seed = 0;
};

// Sees the expected Gram matrix of every hidden state of one sample in one chain.
class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  virtual void hidden(Index state, const Gram& k, const Tokens& tokens) = 0;
};

// Tokens whose channels have a mean that is not zero: the input that was given, until a norm takes it out.
struct KernelState {
  Gram gram;
  RowVector<double> channel_means;  // of each token; empty: zero
};

// The domain of theory: the state is the Gram matrix that a wide network has in expectation over its weights. No weight
// is drawn; where an expectation has no closed form it is the mean over drawn queries and keys.
class Kernel {
 public:
  using Scalar = double;
  using State = KernelState;
  using Layer = DescribedLayer;
  using Loader = DescribedLayers;

  // All must outlive the domain. `chain`: of independent estimates, each with random numbers of its own.
  Kernel(const Network* network, const Sample* sample, KernelObserver* observer, const KernelOptions& options,
         Index chain);

  void enter(const Layer& layer) { layer_ = &layer; }
  void enter_branch(Index branch) { branch_ = branch; }
  State norm(const Norm& norm, NormPlace place, State x);
  State apply(const Attention& attention, const State& x);
  State apply(const Mlp& mlp, const State& x);
  State apply(const Elementwise& elementwise, const State& x);
  State sum(double fx, State x, double fy, const State& y);
  State combine(double skip, State x, double branch, State y);
  void hidden(Index state, const State& x);

  // Hidden state 0.
  State start();
  // Whether an attention so far was drawn.
  bool sampled() const { return sampled_; }
  std::uint64_t seed() const { return seed_; }

 private:
  const Network& network_;
  const Sample& sample_;
  KernelObserver* observer_;
  const KernelOptions& options_;
  std::uint64_t seed_;  // of this chain
  Tokens tokens_;
  const Layer* layer_ = nullptr;
  Index branch_ = 0;
  bool sampled_ = false;
};

// Whether some attention of the network has no closed form at any size.
bool needs_draws(const Network& network);

struct KernelRun {
  bool sampled = false;      // whether anything was drawn; if not, all chains are the same and one is enough
  double floor = -INFINITY;  // log10 of the relative residual below which what observers saw is rounding
};

// Runs the domain, or the one for shared weights where they are (shared_kernel.h), for each sample and chain:
// observers[s * n_chains + c].
KernelRun run_kernel(const Network& network, std::span<const Sample> samples, Index n_chains,
                     std::span<KernelObserver* const> observers, const KernelOptions& options,
                     const Progress& progress);

}  // namespace rankfall
