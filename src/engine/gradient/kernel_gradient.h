#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/gradient/gradient.h"
#include "engine/kernel/kernel.h"

namespace rankfall {

// What theory predicts of gradient_norms: the root of E |d<G, Y>/dW|^2 over weights and probes, in the limit of
// infinite width. The recursion goes backwards by step_back over the Gram matrix of derivatives,
//
//   Gamma_ij = E g_i . g_j / d,  g_i = d<G, Y> / dx_i,
//
// which is the identity at the output (docs/prediction.md has the formulas). Derivatives and states are taken to be
// independent. Attention is closed where P is uniform up to logits of small variance; elsewhere queries, keys, values
// and derivatives are drawn, and attention_back() takes them back as in the network.
struct PredictedGradients {
  // Logarithms of the norms; -infinity for zero.
  struct Block {
    double log_q = kLogZero, log_k = kLogZero, log_v = kLogZero;
    bool has_attention = false;
  };
  std::vector<Block> blocks;
  bool sampled = false;  // whether anything was drawn
};

// Why theory does not predict gradients of a network whose states it predicts.
std::optional<NotCarried> kernel_gradient_not_carried(const Network& network);

// [sample * n_chains + chain]. Requires that not_carried() and kernel_gradient_not_carried() are empty.
// Cost: what two forward passes of Kernel cost, and about one more backwards; the Gram matrices that enter all
// sub-layers are in memory.
std::vector<PredictedGradients> predicted_gradients(const Network& network, std::span<const Sample> samples,
                                                    Index n_chains, const KernelOptions& options,
                                                    const Progress& progress = {});

}  // namespace rankfall
