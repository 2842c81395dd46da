#include "train/optimiser.h"

namespace rankfall {

Optimiser::Optimiser(const TrainSettings& settings, const torch::Tensor& parameters) : parameters_(parameters) {
  if (settings.optimiser == "adamw") {
    adamw_ = std::make_unique<torch::optim::AdamW>(
        std::vector<torch::Tensor>{parameters},
        torch::optim::AdamWOptions(settings.learning_rate).weight_decay(settings.weight_decay));
  } else {
    adam_ = std::make_unique<torch::optim::Adam>(
        std::vector<torch::Tensor>{parameters},
        torch::optim::AdamOptions(settings.learning_rate).weight_decay(settings.weight_decay));
  }
}

void Optimiser::step(double rate) {
  if (adamw_) {
    options<torch::optim::AdamWOptions>(*adamw_).lr(rate);
    adamw_->step();
  } else {
    options<torch::optim::AdamOptions>(*adam_).lr(rate);
    adam_->step();
  }
}

void Optimiser::save(TrainState& state) const {
  const auto copy = [](const torch::Tensor& from) {
    return std::vector<float>(from.data_ptr<float>(), from.data_ptr<float>() + from.numel());
  };
  const auto from = [&](const auto& own) {
    state.n_updates = own.step();
    state.first = copy(own.exp_avg());
    state.second = copy(own.exp_avg_sq());
  };
  if (adamw_) {
    from(state_of<torch::optim::AdamWParamState>(*adamw_));
  } else {
    from(state_of<torch::optim::AdamParamState>(*adam_));
  }
}

void Optimiser::load(const TrainState& state) {
  const auto into = [&](auto own) {
    own->step(state.n_updates);
    own->exp_avg(torch::tensor(state.first));
    own->exp_avg_sq(torch::tensor(state.second));
    return own;
  };
  const std::string key = c10::guts::to_string(parameters_.unsafeGetTensorImpl());
  if (adamw_) {
    adamw_->state()[key] = into(std::make_unique<torch::optim::AdamWParamState>());
  } else {
    adam_->state()[key] = into(std::make_unique<torch::optim::AdamParamState>());
  }
}

}  // namespace rankfall
