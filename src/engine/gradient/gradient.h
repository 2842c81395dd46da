#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/kernel/carried.h"
#include <rankfall/forward.h>
#include <rankfall/matrix.h>
#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/sample.h>

namespace rankfall {

// How strongly the output depends on the weights of attention. The loss is <G, Y>: Y the network's output for one
// sample, final norm applied, and G a probe, standard normal in every entry that is no padding. The expectation over G
// of the squared norm of the loss's gradient is the squared Frobenius norm of the Jacobian dY/dW.

// Root mean square over probes of the Frobenius norm of d<G, Y>/dW, for the weights of a block. A weight that several
// blocks share counts as if each had its own.
struct BlockGradients {
  double q = 0, k = 0, v = 0;
  // Relative residual, composite norm, of what enters attention: that of W_Q and W_K is rounding where this is.
  double residual = 0;
  bool has_attention = false;
};

struct GradientOptions {
  Index n_probes = 4;
  // A probe depends on this, on the number of its sample and on its own number.
  std::uint64_t seed = 0;
};

enum class ProjectionName { kQ, kK, kV };

// Sees d<G, Y>/dW of every probe, W: [out, in]. Calls come from several threads, one sample's in order.
struct GradientOf {
  Index sample = 0, probe = 0, layer = 0;  // index in Network::layers
  ProjectionName projection = ProjectionName::kQ;
};
using GradientSink = std::function<void(const GradientOf& of, const MatrixRef<double>& gradient)>;

// Why the derivative of a network is not taken. P that is a product of thin matrices has none here.
std::optional<NotCarried> gradient_not_carried(const Network& network);

// [sample][block]. Reverse mode in double: the forward pass keeps the input of each sub-layer; backwards, each
// sub-layer runs once more and is transposed (step_back). Requires that gradient_not_carried() is empty.
// Cost: two forward passes, and two more for each probe; P of one sub-layer, and the inputs of all, are in memory.
std::vector<std::vector<BlockGradients>> gradient_norms(const Network& network, const WeightSource& weights,
                                                        std::span<const Sample> samples,
                                                        const GradientOptions& gradient = {},
                                                        const ForwardOptions& options = {},
                                                        const GradientSink& sink = {});

// The probe of a sample, rows of padding zero.
Matrix<double> gradient_probe(std::uint64_t seed, Index sample, Index probe, Index d, const Sample& of);

}  // namespace rankfall
