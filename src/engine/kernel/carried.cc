#include "engine/kernel/carried.h"

#include <algorithm>
#include <set>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "engine/kernel/moments.h"
#include "engine/layer_weights.h"

namespace rankfall {
namespace {

std::vector<const Linear*> maps_of(const Function& f) {
  if (const auto* attention = std::get_if<Attention>(&f)) {
    return {&attention->q, &attention->k, &attention->v, &attention->o};
  }
  if (const auto* mlp = std::get_if<Mlp>(&f)) {
    if (mlp->gate) return {&mlp->up, &mlp->down, &*mlp->gate};
    return {&mlp->up, &mlp->down};
  }
  return {};
}

// The map that writes into the stream.
const Linear* output_of(const Function& f) {
  if (const auto* attention = std::get_if<Attention>(&f)) return &attention->o;
  if (const auto* mlp = std::get_if<Mlp>(&f)) return &mlp->down;
  return nullptr;
}

bool is_random(const Network& network, const Linear& linear) { return moments_of(network, linear.w).mean == 0; }

}  // namespace

// The covariance of a stream and what a branch adds to it is zero as long as the branch ends in weights that wrote
// nothing into the stream before; what was written before a sub-layer without a skip is gone.
std::optional<NotCarried> not_carried(const Network& network) {
  std::set<int> in_stream;  // tensors whose outputs are part of the stream
  for (const SubLayer& layer : network.layers) {
    const std::string where = fmt::format("block {}", layer.block);
    if (layer.skip == 0) in_stream.clear();
    for (const Branch& branch : layer.branches) {
      if (std::holds_alternative<Elementwise>(branch.f)) return NotCarried{Reason::kNoWeights, where};
      for (const Linear* map : maps_of(branch.f)) {
        if (!is_random(network, *map)) return NotCarried{Reason::kFixedWeights, where};
      }
      const Linear* output = output_of(branch.f);
      if (!output || moments_of(network, output->w).variance == 0) continue;
      if (!in_stream.insert(output->w.tensor).second) return NotCarried{Reason::kSharedWeights, where};
    }
  }
  for (const auto& stage : network.input.stages) {
    const auto* linear = std::get_if<Linear>(&stage);
    if (linear && !is_random(network, *linear)) return NotCarried{Reason::kFixedWeights, "the input"};
  }
  return std::nullopt;
}

}  // namespace rankfall
