#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/kernel/kernel.h"

namespace rankfall {

// The domain of theory for networks that write into a stream through the same weights more than once (ALBERT, a block
// that is repeated): what such sub-layers add is correlated, and the Gram matrix of a state alone does not determine
// the next one.
//
// A state is a sum of sources S, of the input and of what each branch has added so far, each with a factor per token
// that skips and norms have given it, x_i = sum of f_i S_i. Sources of one function are correlated with each other, as
// far as the states that entered it are; those of different functions are not. Covariances are plain numbers: the
// residual is carried down to the rounding of the whole (kSharedFloor), not below.
class SharedKernel {
 public:
  struct Term {
    Index source = 0;
    RowVector<double> factors;
  };
  using Scalar = double;
  using State = std::vector<Term>;
  using Layer = DescribedLayer;
  using Loader = DescribedLayers;

  SharedKernel(const Network* network, const Sample* sample, KernelObserver* observer, const KernelOptions& options,
               Index chain);
  SharedKernel(SharedKernel&& other) noexcept;
  ~SharedKernel();

  void enter(const Layer& layer);
  State norm(const Norm& norm, NormPlace place, State x);
  State apply(const Attention& attention, const State& x);
  State apply(const Mlp& mlp, const State& x);
  State apply(const Elementwise& elementwise, const State& x);
  State sum(double fx, State x, double fy, const State& y);
  State combine(double skip, State x, double branch, State y);
  void hidden(Index state, const State& x);

  State start();
  bool sampled() const;

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

// About how many numbers a state takes at the end of a network, with this many heads drawn where some have to be.
double shared_kernel_size(const Network& network, Index n_tokens, Index draws);

// log10 of the relative residual below which predictions of SharedKernel are rounding: the square of 1e-6 is four
// digits above the rounding of the Gram matrix.
inline constexpr double kSharedFloor = -6;

}  // namespace rankfall
