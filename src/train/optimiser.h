#pragma once

#include <memory>

#include <torch/torch.h>

#include "train/settings.h"
#include "train/training_files.h"

namespace rankfall {

// Adam or AdamW of torch on one parameter, whose moments can be kept.
class Optimiser {
 public:
  Optimiser(const TrainSettings& settings, const torch::Tensor& parameters);

  void step(double rate);
  void save(TrainState& state) const;
  void load(const TrainState& state);

 private:
  template <class Options>
  static Options& options(torch::optim::Optimizer& optimiser) {
    return static_cast<Options&>(optimiser.param_groups()[0].options());
  }
  template <class State>
  const State& state_of(torch::optim::Optimizer& optimiser) const {
    return static_cast<const State&>(*optimiser.state().at(c10::guts::to_string(parameters_.unsafeGetTensorImpl())));
  }

  torch::Tensor parameters_;
  std::unique_ptr<torch::optim::AdamW> adamw_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

}  // namespace rankfall
