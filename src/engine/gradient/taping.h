#pragma once

#include <vector>

#include "engine/dense/dense.h"

namespace rankfall {

// What the derivative of one sub-layer needs to know of its forward pass.
struct Tape {
  Matrix<double> input;  // x
  struct OfBranch {
    Matrix<double> input;   // of its function
    Matrix<double> output;  // of its function, if a norm follows
  };
  std::vector<OfBranch> branches;
  Matrix<double> sum;  // what the post-norm reads
};

// Dense<double> that keeps the tape of the sub-layer it is in, and in `inputs`, unless it is null, the input of every
// sub-layer and of the final norm.
class Taping {
 public:
  using Scalar = double;
  using State = Matrix<double>;
  using Layer = LoadedLayer<double>;

  Taping(const Sample* sample, std::vector<Matrix<double>>* inputs) : dense_(sample, nullptr), inputs_(inputs) {}

  void enter(const Layer& layer) {
    dense_.enter(layer);
    tape_ = {};
    tape_.branches.resize(layer.layer->branches.size());
  }
  void enter_branch(Index branch) {
    dense_.enter_branch(branch);
    branch_ = static_cast<std::size_t>(branch);
  }
  State norm(const Norm& norm, NormPlace place, State x) {
    if (!inputs_ && place == NormPlace::kOut) tape_.branches[branch_].output = x;
    if (!inputs_ && place == NormPlace::kPost) tape_.sum = x;
    return dense_.norm(norm, place, std::move(x));
  }
  State apply(const auto& f, const State& x) {
    if (!inputs_) tape_.branches[branch_].input = x;
    return dense_.apply(f, x);
  }
  State sum(double fx, State x, double fy, const State& y) { return dense_.sum(fx, std::move(x), fy, y); }
  State combine(double skip, State x, double branch, State y) {
    if (inputs_) {
      inputs_->push_back(x);
    } else {
      tape_.input = x;
    }
    return dense_.combine(skip, std::move(x), branch, std::move(y));
  }
  void hidden(Index state, const State& x) { dense_.hidden(state, x); }
  State norm_with(const LayerWeights<double>& weights, const Norm& norm, NormPlace place, State x) {
    if (inputs_) inputs_->push_back(x);
    return dense_.norm_with(weights, norm, place, std::move(x));
  }

  const Tape& tape() const { return tape_; }

 private:
  Dense<double> dense_;
  std::vector<Matrix<double>>* inputs_;
  std::size_t branch_ = 0;
  Tape tape_;
};

}  // namespace rankfall
