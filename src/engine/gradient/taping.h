#pragma once

#include <utility>
#include <vector>

#include "engine/dense/dense.h"

namespace rankfall {

// What the derivative of one sub-layer needs to know of its forward pass, in any domain's states.
template <class State>
struct Tape {
  State input;  // x
  struct OfBranch {
    State input;   // of its function
    State output;  // of its function, if a norm follows
  };
  std::vector<OfBranch> branches;
  State sum;  // what the post-norm reads
};

// A domain that keeps the tape of the sub-layer it is in; or, with `inputs`, the input of every sub-layer and of the
// final norm, and no tape.
template <class D>
class Taping {
 public:
  using Scalar = typename D::Scalar;
  using State = typename D::State;
  using Layer = typename D::Layer;

  Taping(D domain, std::vector<State>* inputs) : domain_(std::move(domain)), inputs_(inputs) {}

  void enter(const Layer& layer) {
    domain_.enter(layer);
    tape_ = {};
    tape_.branches.resize(layer.layer->branches.size());
  }
  void enter_branch(Index branch) {
    domain_.enter_branch(branch);
    branch_ = static_cast<std::size_t>(branch);
  }
  State norm(const Norm& norm, NormPlace place, State x) {
    if (!inputs_ && place == NormPlace::kOut) tape_.branches[branch_].output = x;
    if (!inputs_ && place == NormPlace::kPost) tape_.sum = x;
    return domain_.norm(norm, place, std::move(x));
  }
  State apply(const auto& f, const State& x) {
    if (!inputs_) tape_.branches[branch_].input = x;
    return domain_.apply(f, x);
  }
  State sum(double fx, State x, double fy, const State& y) { return domain_.sum(fx, std::move(x), fy, y); }
  State combine(double skip, State x, double branch, State y) {
    if (inputs_) {
      inputs_->push_back(x);
    } else {
      tape_.input = x;
    }
    return domain_.combine(skip, std::move(x), branch, std::move(y));
  }
  void hidden(Index state, const State& x) { domain_.hidden(state, x); }

  const Tape<State>& tape() const { return tape_; }

 protected:
  D domain_;
  std::vector<State>* inputs_;
  std::size_t branch_ = 0;
  Tape<State> tape_;
};

class DenseTaping : public Taping<Dense<double>> {
 public:
  DenseTaping(const Sample* sample, std::vector<Matrix<double>>* inputs) : Taping({sample, nullptr}, inputs) {}
  State norm_with(const LayerWeights<double>& weights, const Norm& norm, NormPlace place, State x) {
    if (inputs_) inputs_->push_back(x);
    return domain_.norm_with(weights, norm, place, std::move(x));
  }
};

}  // namespace rankfall
