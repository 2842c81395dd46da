#include "engine/frozen/freezing.h"

namespace rankfall {

void Freezing::Capture::attention(Index /*block*/, Index head, const MatrixRef<double>& p) {
  frozen.attention[static_cast<std::size_t>(head)] = p;
}

void Freezing::Capture::norm_scales(const NormSite& site, const RowVectorRef<double>& scales) {
  if (site.place == NormPlace::kPost || site.place == NormPlace::kFinal) {
    frozen.post_scales = scales;
    return;
  }
  FrozenLayer::OfBranch& of_branch = frozen.branches[static_cast<std::size_t>(site.branch)];
  (site.place == NormPlace::kPre ? of_branch.in_scales : of_branch.out_scales) = scales;
}

void Freezing::Capture::branch(Index /*layer*/, Index branch, const MatrixRef<double>& y) {
  const auto b = static_cast<std::size_t>(branch);
  if (!std::holds_alternative<Attention>(frozen.layer->branches[b].f)) frozen.branches[b].output = y;
}

Freezing::Freezing(const Sample* sample, FrozenObserver* observer)
    : capture_(std::make_unique<Capture>()), dense_(sample, capture_.get()), observer_(observer) {}

void Freezing::enter(const Layer& layer) {
  dense_.enter(layer);
  FrozenLayer& frozen = capture_->frozen;
  frozen = {};
  frozen.layer = layer.layer;
  frozen.block = block_ = layer.layer->block;
  frozen.weights = &layer.weights;
  frozen.branches.resize(layer.layer->branches.size());
  if (const Attention* attention = layer.layer->attention()) {
    frozen.attention.resize(static_cast<std::size_t>(attention->n_heads));
  }
}

void Freezing::leave() {
  observer_->layer(capture_->frozen);
  capture_->frozen = {};
}

void Freezing::hidden(Index state, const State& x) {
  dense_.hidden(state, x);
  observer_->hidden(state, x);
}

Matrix<double> Freezing::norm_with(const LayerWeights<double>& weights, const Norm& norm, NormPlace place, State x) {
  capture_->frozen = {};
  capture_->frozen.final_norm = &norm;
  capture_->frozen.block = block_ + 1;
  capture_->frozen.weights = &weights;
  x = dense_.norm_with(weights, norm, place, std::move(x));
  observer_->layer(capture_->frozen);
  return x;
}

void FrozenRecorder::layer(const FrozenLayer& f) {
  weights_.push_back(std::make_unique<LayerWeights<double>>(*f.weights));
  layers.push_back(f);
  layers.back().weights = weights_.back().get();
}

std::vector<Matrix<double>> freeze(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                                   std::span<FrozenObserver* const> observers, std::vector<Matrix<double>> inputs,
                                   const ForwardOptions& options) {
  check_observers(observers.size(), samples.size());
  run_samples<Freezing, FrozenObserver>(network, weights, samples, observers, inputs, options);
  return inputs;
}

}  // namespace rankfall
