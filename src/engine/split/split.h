#pragma once

#include <span>

#include "engine/layer_loader.h"
#include "engine/split/jitter.h"
#include "engine/split/scaled.h"
#include "engine/step.h"
#include <rankfall/matrix.h>
#include <rankfall/sample.h>
#include <rankfall/split.h>
#include <rankfall/variants.h>

namespace rankfall {

// Error(kUsage) if `track` refuses one of the variants; says which it would take.
void check_trackable(const Network& network, std::span<const Variant> variants);

// An observer that sees inside blocks, too.
class SplitLayerObserver : public SplitObserver {
 public:
  // What enters an attention, after its pre-norm; the weights are loaded.
  virtual void attention(const LoadedLayer<double>& layer, const SplitState& in) = 0;
  // skip x + branch f(pre(x)) of any sub-layer, before its post-norm.
  virtual void combined(const LoadedLayer<double>& layer, const SplitState& x, const SplitState& sum) = 0;
};

// The domain that follows the residual below floating point: mean and residual are never added (math.md 2).
class Split {
 public:
  using Scalar = double;
  using State = SplitState;
  using Layer = LoadedLayer<double>;

  // `sample` and `observer` (may be null) must outlive the domain.
  Split(const Sample* sample, SplitObserver* observer)
      : sample_(sample),
        observer_(observer),
        inside_(dynamic_cast<SplitLayerObserver*>(observer)),
        jitter_(observer ? Jitter(observer->jitter(), observer->jitter_draw()) : Jitter(0, 0)) {}

  void enter(const Layer& layer) { layer_ = &layer; }
  State norm(const Norm& norm, NormPlace place, State x);
  State apply(const Attention& attention, const State& x);
  State apply(const Mlp& mlp, const State& x);
  State apply(const Elementwise& elementwise, const State& x);
  State sum(double fx, State x, double fy, const State& y);
  State combine(double skip, const State& x, double branch, State y);
  void hidden(Index state, const State& x);

  // Hidden state 0: the stages of the input map, in this arithmetic. `stages` holds stage_slices(network.input).
  State start(const Network& network, const WeightSource& source, const LayerWeights<double>& stages);
  // For norms outside blocks: weights that belong to no sub-layer.
  State norm_with(const LayerWeights<double>& weights, const Norm& norm, NormPlace place, State x);

 private:
  State branch_done(State y, const char* what);
  // Jitter, if any, and re-centring.
  State settled(State x);

  const Sample* sample_;
  SplitObserver* observer_;
  SplitLayerObserver* inside_;  // the same, or null
  Jitter jitter_;
  const Layer* layer_ = nullptr;
};

// Brings a state into the form that SplitState describes, and both parts to scale: the row mean of the residual part
// moves into the mean, or the mean into the residual.
void recentre(SplitState& x, std::span<const std::uint8_t> valid);

// x W^T + 1 b: the mean goes along as one more row of the product. The residual keeps the scale it has.
SplitState linear(const SplitState& x, const WeightView<double>& w, const VectorView<double>& b);

// LayerNorm or RMSNorm; gain and bias may be empty. The result is not re-centred.
SplitState normalised(const Norm& norm, const VectorView<double>& gain, const VectorView<double>& bias,
                      std::span<const std::uint8_t> valid, SplitState x);

// The row, of those that are no padding, whose largest entry is smallest.
Index smallest_row(const MatrixRef<double>& r, std::span<const std::uint8_t> valid);

}  // namespace rankfall
