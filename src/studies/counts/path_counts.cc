#include "studies/counts/path_counts.h"

#include <algorithm>
#include <cmath>

#include "engine/layer_weights.h"

namespace rankfall {
namespace {

// Finds out which biases are there.
class Biases {
 public:
  Biases(const Network& network, const WeightSource& weights) : network_(network), weights_(weights) {}

  bool any(const SubLayer& layer) const {
    const auto of_branch = [&](const Branch& branch) {
      const auto* attention = std::get_if<Attention>(&branch.f);
      return any(branch.out) || (attention && (any(attention->v.b) || any(attention->o.b) || any(branch.in)));
    };
    return any(layer.post) || std::ranges::any_of(layer.branches, of_branch);
  }
  bool any(const std::optional<Norm>& norm) const { return norm && any(norm->bias); }

 private:
  bool any(const std::optional<TensorSlice>& slice) const {
    if (!slice) return false;
    const LayerWeights<double> loaded({*slice}, network_.tensors, weights_);
    weights_.check();
    return !loaded.vector(*slice).isZero(0);
  }

  const Network& network_;
  const WeightSource& weights_;
};

void begin(StateCounts& counts, const Origin& origin) {
  auto found = std::ranges::find(counts, origin, &OriginCounts::origin);
  if (found == counts.end()) found = counts.insert(counts.end(), {origin, {0}});
  if (found->by_length[0] == 0) found->by_length[0] = 1;
}

}  // namespace

std::vector<BigInt> counts_by_length(Index n_layers, Index n_heads) {
  std::vector<BigInt> counts = {1};
  counts.reserve(static_cast<std::size_t>(n_layers) + 1);
  for (Index k = 1; k <= n_layers; ++k) {
    counts.emplace_back(counts.back() * (n_layers - k + 1) / k);
  }
  BigInt power = 1;
  for (BigInt& count : counts) {
    count *= power;
    power *= n_heads;
  }
  return counts;
}

// Both are shifted so that the quotient has more bits than a double.
double ratio(const BigInt& a, const BigInt& b) {
  if (a == 0) return 0;
  const auto bits = [](const BigInt& n) { return static_cast<Index>(boost::multiprecision::msb(n)); };
  const Index shift = std::max<Index>(0, 70 + bits(b) - bits(a));
  const BigInt quotient = (a << static_cast<unsigned>(shift)) / b;
  return std::ldexp(quotient.convert_to<double>(), -static_cast<int>(shift));
}

std::vector<StateCounts> path_counts(const Network& network, const WeightSource& weights) {
  const Biases biases(network, weights);
  StateCounts counts = {{{Origin::Kind::kEmbedding, {}}, {1}}};
  std::vector<StateCounts> states = {counts};
  const auto n_layers = network.layers.size();
  for (std::size_t l = 0; l < n_layers; ++l) {
    const SubLayer& layer = network.layers[l];
    const Attention* attention = layer.attention();
    for (auto& [origin, by_length] : counts) {
      if (attention) {
        by_length.emplace_back(0);
        for (std::size_t k = by_length.size() - 1; k > 0; --k) {
          by_length[k] = (layer.skip == 0 ? BigInt(0) : by_length[k]) + attention->n_heads * by_length[k - 1];
        }
      }
      if (layer.skip == 0 && attention) by_length[0] = 0;
      if (layer.skip == 0 && !attention) std::ranges::fill(by_length, 0);
    }
    if (layer.with<Mlp>() || layer.with<Elementwise>()) begin(counts, {Origin::Kind::kMlp, layer.block});
    if (biases.any(layer)) begin(counts, {Origin::Kind::kBias, layer.block});
    const bool last = l + 1 == n_layers || network.layers[l + 1].block != layer.block;
    if (last) states.push_back(counts);
  }
  if (biases.any(network.final_norm)) begin(counts, {Origin::Kind::kBias, network.sizes.n_blocks});
  if (network.final_norm && network.final_norm_in_state) states.back() = counts;
  states.push_back(std::move(counts));
  return states;
}

BigInt count_of(const StateCounts& counts, const Origin& origin, std::optional<Index> length) {
  BigInt sum = 0;
  for (const auto& [from, by_length] : counts) {
    if (from.kind != origin.kind || (origin.block && from.block != origin.block)) continue;
    for (std::size_t k = 0; k < by_length.size(); ++k) {
      if (!length || *length == static_cast<Index>(k)) sum += by_length[k];
    }
  }
  return sum;
}

BigInt count_of(const StateCounts& counts, std::optional<Index> length) {
  BigInt sum = 0;
  for (const auto kind : {Origin::Kind::kEmbedding, Origin::Kind::kMlp, Origin::Kind::kBias}) {
    sum += count_of(counts, {kind, {}}, length);
  }
  return sum;
}

}  // namespace rankfall
