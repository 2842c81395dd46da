#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/networks.h"
#include <rankfall/decompose.h>
#include <rankfall/matrix.h>

namespace rankfall {

// A network all of whose tensors are drawn, biases and gains too.
inline Model with_biases(Model model, std::uint64_t seed) {
  for (TensorSpec& tensor : model.network.tensors) {
    if (tensor.init.kind == Init::Kind::kConstant)
      tensor.init = {Init::Kind::kUniform, tensor.init.scale == 0 ? 0.3 : 1.5};
  }
  model.weights = draw_weights(model.network.tensors, seed);
  return model;
}

// Every combination of skips, biases, norms (none, pre, post) and MLPs.
inline std::vector<std::string> path_networks(Index n_blocks, Index n_heads) {
  std::vector<std::string> specs;
  for (const char* norm : {"none", "pre", "post"}) {
    for (const int bias : {0, 1}) {
      for (const char* skip : {"1", "0", "0.5"}) {
        for (const char* mlp : {"", ",mlp=5", ",mlp=5,mlp_skip=0"}) {
          specs.push_back(fmt::format("san:layers={},heads={},dim={},vocab=20,std=0.5,norm={},bias={},attn_skip={}{}",
                                      n_blocks, n_heads, 2 * n_heads, norm, bias, skip, mlp));
        }
      }
    }
  }
  return specs;
}

inline double distance(const MatrixRef<double>& a, const MatrixRef<double>& b) { return (a - b).norm() / b.norm(); }

}  // namespace rankfall
