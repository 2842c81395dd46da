#include "engine/kernel/carried.h"

#include <map>
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

// A norm that gives every channel the same constant, and adds nothing.
bool is_plain(const Network& network, const std::optional<Norm>& norm) {
  if (!norm) return true;
  const bool gain = !norm->gain || moments_of(network, *norm->gain).variance == 0;
  return gain && (!norm->bias || moments_of(network, *norm->bias).square() == 0);
}

// Calls of(layer, branch, whether its output weights wrote into the stream before) for every branch that adds
// something. What was written before a sub-layer without a skip is gone.
template <class Of>
void each_output(const Network& network, const Of& of) {
  std::set<int> in_stream;  // tensors
  for (const SubLayer& layer : network.layers) {
    if (layer.skip == 0) in_stream.clear();
    for (const Branch& branch : layer.branches) {
      const Linear* output = output_of(branch.f);
      if (!output || moments_of(network, output->w).variance == 0) continue;
      of(layer, branch, !in_stream.insert(output->w.tensor).second);
    }
  }
}

// What keeps SharedKernel from carrying a network whose sub-layers share weights: norms that are not plain, and output
// weights that are shared by functions which differ in others.
std::optional<NotCarried> not_carried_shared(const Network& network) {
  std::optional<NotCarried> out;
  std::map<int, FunctionWeights> of_output;
  each_output(network, [&](const SubLayer& layer, const Branch& branch, bool /*again*/) {
    const FunctionWeights weights = weights_of(branch.f);
    const auto [found, is_new] = of_output.try_emplace(output_of(branch.f)->w.tensor, weights);
    if (out || (is_plain(network, branch.in) && is_plain(network, branch.out) && is_plain(network, layer.post) &&
                found->second == weights)) {
      return;
    }
    out = NotCarried{Reason::kSharedWeights, fmt::format("block {}", layer.block)};
  });
  if (!out && !is_plain(network, network.final_norm)) out = NotCarried{Reason::kSharedWeights, "the final norm"};
  return out;
}

}  // namespace

FunctionWeights weights_of(const Function& f) {
  FunctionWeights out;
  const auto add = [&](const std::optional<TensorSlice>& slice) {
    const TensorSlice of = slice.value_or(TensorSlice{.tensor = -1});
    out.insert(out.end(), {of.tensor, of.row, of.col, of.rows, of.cols, of.transposed ? 1 : 0, of.run, of.period});
  };
  for (const Linear* map : maps_of(f)) {
    add(map->w);
    add(map->b);
  }
  return out;
}

// The covariance of a stream and what a branch adds to it is zero as long as the branch ends in weights that wrote
// nothing into the stream before.
bool shares_weights(const Network& network) {
  bool out = false;
  each_output(network, [&](const SubLayer&, const Branch&, bool again) { out = out || again; });
  return out;
}

std::optional<NotCarried> not_carried(const Network& network) {
  for (const SubLayer& layer : network.layers) {
    const std::string where = fmt::format("block {}", layer.block);
    for (const Branch& branch : layer.branches) {
      if (std::holds_alternative<Elementwise>(branch.f)) return NotCarried{Reason::kNoWeights, where};
      for (const Linear* map : maps_of(branch.f)) {
        if (!is_random(network, *map)) return NotCarried{Reason::kFixedWeights, where};
      }
    }
  }
  for (const auto& stage : network.input.stages) {
    const auto* linear = std::get_if<Linear>(&stage);
    if (linear && !is_random(network, *linear)) return NotCarried{Reason::kFixedWeights, "the input"};
  }
  return shares_weights(network) ? not_carried_shared(network) : std::nullopt;
}

}  // namespace rankfall
