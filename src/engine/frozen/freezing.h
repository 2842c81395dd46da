#pragma once

#include <memory>
#include <vector>

#include "engine/dense/dense.h"
#include "engine/forward_impl.h"
#include "engine/frozen/frozen_layer.h"
#include <rankfall/matrix.h>

namespace rankfall {

// Follows one sample's forward pass sub-layer by sub-layer, in order.
class FrozenObserver {
 public:
  virtual ~FrozenObserver() = default;
  // A sub-layer that the pass has just left, or the final norm; valid during the call only.
  virtual void layer(const FrozenLayer& f) = 0;
  virtual void hidden(Index /*state*/, const MatrixRef<double>& /*x*/) {}
};

// Dense<double> that keeps what freezes a sub-layer while it is in it: P of one layer is alive at a time.
class Freezing {
 public:
  using Scalar = double;
  using State = Matrix<double>;
  using Layer = LoadedLayer<double>;

  // `sample` and `observer` must outlive the domain.
  Freezing(const Sample* sample, FrozenObserver* observer);

  void enter(const Layer& layer);
  void enter_branch(Index branch) { dense_.enter_branch(branch); }
  State norm(const Norm& norm, NormPlace place, State x) { return dense_.norm(norm, place, std::move(x)); }
  State apply(const Attention& attention, const State& x) { return dense_.apply(attention, x); }
  State apply(const Mlp& mlp, const State& x) { return dense_.apply(mlp, x); }
  State apply(const Elementwise& elementwise, const State& x) { return dense_.apply(elementwise, x); }
  State sum(double fx, State x, double fy, const State& y) { return dense_.sum(fx, std::move(x), fy, y); }
  State combine(double skip, State x, double branch, State y) {
    capture_->frozen.input = x;
    return dense_.combine(skip, std::move(x), branch, std::move(y));
  }
  void leave();
  void hidden(Index state, const State& x);
  State norm_with(const LayerWeights<double>& weights, const Norm& norm, NormPlace place, State x);

 private:
  struct Capture : Observer<double> {
    Needs needs() const override {
      return {.attention = Needs::Attention::kWhole, .norm_scales = true, .branches = true};
    }
    void attention(Index block, Index head, const MatrixRef<double>& p) override;
    void norm_scales(const NormSite& site, const RowVectorRef<double>& scales) override;
    void branch(Index layer, Index branch, const MatrixRef<double>& y) override;
    FrozenLayer frozen;
  };

  Index block_ = 0;
  std::unique_ptr<Capture> capture_;  // has an address that stays
  Dense<double> dense_;
  FrozenObserver* observer_;
};

// Keeps frozen sub-layers, with weights of their own.
class FrozenRecorder final : public FrozenObserver {
 public:
  void layer(const FrozenLayer& f) override;

  // In the order of the pass; a final norm last.
  std::vector<FrozenLayer> layers;

 private:
  std::vector<std::unique_ptr<LayerWeights<double>>> weights_;
};

// Runs the forward pass for each sample under its observer; returns the last states, final norm applied.
std::vector<Matrix<double>> freeze(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                                   std::span<FrozenObserver* const> observers, std::vector<Matrix<double>> inputs,
                                   const ForwardOptions& options);

// The same with make(s, input) as the observer of sample s, a Run. Outputs go to `outputs` unless it is null.
template <class Run>
std::vector<Run> freeze_with(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                             const ForwardOptions& options, const auto& make,
                             std::vector<Matrix<double>>* outputs = nullptr) {
  const BlasThreads one_blas_thread(1);
  std::vector<Matrix<double>> states = input_states<double>(network, weights, samples);
  std::vector<Run> runs;
  std::vector<FrozenObserver*> watch;
  runs.reserve(samples.size());
  watch.reserve(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s) watch.push_back(&runs.emplace_back(make(s, states[s])));
  states = freeze(network, weights, samples, watch, std::move(states), options);
  if (outputs) *outputs = std::move(states);
  return runs;
}

}  // namespace rankfall
