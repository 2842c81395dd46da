#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/kernel/gram.h"
#include <rankfall/network.h>
#include <rankfall/sample.h>

namespace rankfall {

// Heads of an attention whose queries and keys are drawn: normal, with the covariance that the Gram matrix of the
// tokens and the weights' variance give them. Positions, masks, norms, caps and kinds of attention act on them as in
// the network, in the arithmetic of Split.
struct SampledAttention {
  const Network& network;
  const Attention& attention;
  Index index;  // of the sub-layer
  const Sample& sample;
  const Tokens& tokens;
  std::uint64_t seed;
  Index draws;    // heads, at least
  Index numbers;  // the sub-layer whose random numbers these are: the first of those that share their weights

  // E P V P^T as a mean over heads, V the Gram matrix of the values: rows of P need not sum to one.
  Gram mixing(const Gram& k) const;

  // P of every head for tokens with the Gram matrix factor factor^T. Of two factors with as many rows, the columns that
  // both have stand for the same random numbers: P of sub-layers with the same weights.
  std::vector<Matrix<double>> probabilities(const Matrix<double>& factor) const;

 private:
  // What P multiplies, and the factors of the tokens' Gram matrix.
  struct Inputs {
    SplitState x, values;
  };
  using Use = std::function<void(Index set, Index head, SplitState mixed)>;
  Index n_sets() const;
  void each_head(Inputs in, const Use& use) const;
};

}  // namespace rankfall
