#pragma once

#include <torch/torch.h>

#include <rankfall/index.h>

namespace rankfall {

// Multi-head attention of a batch and its gradient in one pass over (sequence, head): libtorch without MKL makes a
// product of many small matrices one by one at ten times the cost of the products themselves.
//   q, k, v     [batch, tokens, heads * d_head], float
//   valid       [batch, tokens] of booleans, false where a key is padding; undefined: none is
//   kept        [batch, heads, tokens, tokens], factors of the probabilities (dropout); undefined: 1
// Returns softmax(scale q k^T) v of all heads side by side.
torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, Index n_heads,
                     double scale, const torch::Tensor& valid, const torch::Tensor& kept);

}  // namespace rankfall
