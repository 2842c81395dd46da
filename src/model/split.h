#pragma once

#include <string>

#include "model/layer_loader.h"
#include "model/scaled.h"
#include "model/step.h"
#include <rankfall/sample.h>
#include <rankfall/split.h>

namespace rankfall {

// The domain that follows the residual below floating point: mean and residual are never added (math.md 2).
class Split {
 public:
  using Scalar = double;
  using State = SplitState;
  using Layer = LoadedLayer<double>;

  // `sample` and `observer` (may be null) must outlive the domain.
  Split(const Sample* sample, SplitObserver* observer)
      : sample_(sample), observer_(observer), jitter_(observer ? observer->jitter() : 0) {}

  void enter(const Layer& layer) { layer_ = &layer; }
  State norm(const Norm& norm, NormPlace place, State x);
  State apply(const Attention& attention, const State& x);
  State apply(const Mlp& mlp, const State& x);
  State apply(const Elementwise& elementwise, const State& x);
  State combine(double skip, const State& x, double branch, State y);
  void hidden(Index state, const State& x);

  // For norms outside blocks: weights that belong to no sub-layer.
  State norm_with(const LayerWeights<double>& weights, const Norm& norm, NormPlace place, State x);

 private:
  State branch_done(State y, const char* what);
  // Jitter, if any, and re-centring.
  State settled(State x);

  const Sample* sample_;
  SplitObserver* observer_;
  double jitter_;
  Index n_jittered_ = 0;
  const Layer* layer_ = nullptr;
};

// The row mean of the residual part, over tokens that are no padding, moves into the mean; rows of padding become zero;
// both parts are rescaled.
void recentre(SplitState& x, std::span<const std::uint8_t> valid);

// x W^T + 1 b: the mean goes along as one more row of the product. The residual keeps the scale it has.
SplitState linear(const SplitState& x, const WeightView<double>& w, const VectorView<double>& b);

// LayerNorm or RMSNorm; gain and bias may be empty. The result is not re-centred.
SplitState normalised(const Norm& norm, const VectorView<double>& gain, const VectorView<double>& bias, SplitState x);

}  // namespace rankfall
