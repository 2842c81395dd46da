#pragma once

#include <span>
#include <vector>

#include "engine/layer_loader.h"
#include <rankfall/matrix.h>
#include <rankfall/network.h>
#include <rankfall/sample.h>

namespace rankfall {

// Queries, keys and values of all heads side by side, x W + b: before norms of heads and positions. Or derivatives by
// them.
struct HeadProjections {
  Matrix<double> q, k, v;
};

// Less a row that all tokens have in common, so that what remains keeps its digits however alike tokens are. P's
// derivative does not see what all values share, and the queries' does not see what all keys share.
struct CentredProjections {
  Matrix<double> k, v;
};

// From the derivatives by the heads' P V side by side, one matrix for each loss, to those by the projections:
//
//   dV = P^T dM,  dP = dM V^T,  dZ_ij = P_ij (dP_ij - sum over l of P_il dP_il),  Z = scale Q K^T + positions:
//   dQ = scale dZ K,  dK = scale dZ^T Q
//
// and, where there are such, back through soft caps, positions and norms of queries and keys. Requires weights P that
// are a softmax of logits.  Cost: P once, four products of P's size for each loss. Parallel over key heads.
std::vector<HeadProjections> attention_back(const Attention& attention, const LoadedLayer<double>& layer,
                                            const Sample& sample, const HeadProjections& of,
                                            const CentredProjections& centred, std::span<const Matrix<double>> mixed);

// Whether the derivatives by keys, before norms and positions, sum to zero over the tokens.
bool key_gradients_cancel(const Attention& attention);

}  // namespace rankfall
