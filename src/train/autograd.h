#pragma once

#include <vector>

#include <torch/torch.h>

#include "engine/step.h"
#include <rankfall/matrix.h>
#include <rankfall/model.h>
#include <rankfall/sample.h>

namespace rankfall {

// The weights of a network as torch tensors, views into one flat tensor: an optimiser has one parameter, and gradients
// have one norm.
class Parameters {
 public:
  Parameters(const Network& network, const WeightSource& source);

  // Of the slice of a stored tensor, as [rows, cols], or as a vector.
  torch::Tensor matrix(const TensorSlice& slice) const;
  torch::Tensor vector(const TensorSlice& slice) const;

  const torch::Tensor& flat() const { return flat_; }
  const torch::Tensor& gradient() const { return gradient_; }
  // The part of the gradient that belongs to a tensor.
  torch::Tensor gradient_of(int tensor) const;
  const torch::Tensor& tensor(int index) const { return tensors_[static_cast<std::size_t>(index)]; }

 private:
  torch::Tensor flat_, gradient_;
  std::vector<torch::Tensor> tensors_;  // leaves, of the stored shapes
};

// A batch of sequences of one length.
struct Batch {
  torch::Tensor ids;       // [batch, tokens] of integers, or undefined
  torch::Tensor features;  // [batch, tokens, features]
  torch::Tensor valid;     // [batch, tokens] of booleans; undefined: all
  torch::Tensor labels;    // [batch, tokens], -1: none; or undefined
  torch::Tensor targets;   // [batch, tokens, n]
};

// The domain of training: the state of a whole batch as a torch tensor [batch, tokens, width], with gradients.
class Autograd {
 public:
  using State = torch::Tensor;
  using Layer = SubLayer;

  // `dropout` as in the published code: on state 0, on attention's probabilities, on what a branch adds, and on what
  // the head reads; drawn from `generator`. Zero: none.
  Autograd(const Parameters& parameters, double dropout, at::Generator generator)
      : parameters_(parameters), dropout_(dropout), generator_(std::move(generator)) {}

  // The network's output: through the head if it has one. `states`, if given, gets hidden states 0..L.
  torch::Tensor forward(const Network& network, const Batch& batch, std::vector<torch::Tensor>* states = nullptr);

  // Called by step().
  void enter(const SubLayer& /*layer*/) {}
  State norm(const Norm& norm, NormPlace place, State x);
  State apply(const Attention& attention, const State& x);
  State apply(const Mlp& mlp, const State& x);
  State apply(const Elementwise& elementwise, const State& x);
  State sum(double fx, const State& x, double fy, const State& y);
  State combine(double skip, State x, double branch, State y);
  void hidden(Index state, const State& x);

 private:
  torch::Tensor linear(const Linear& f, const torch::Tensor& x) const;
  torch::Tensor input(const Network& network, const Batch& batch);
  torch::Tensor drop(torch::Tensor x);
  torch::Tensor kept_factors(torch::IntArrayRef sizes);

  const Parameters& parameters_;
  double dropout_;
  at::Generator generator_;
  torch::Tensor valid_;  // of the batch
  std::vector<torch::Tensor>* states_ = nullptr;
};

// Mean over labelled tokens of the cross-entropy, or the sum of squared errors over a batch's items divided by their
// number.
torch::Tensor loss_of(const torch::Tensor& output, const Batch& batch);

// A torch tensor's values, which are on the CPU in float.
Matrix<float> to_matrix(const torch::Tensor& x);

}  // namespace rankfall
