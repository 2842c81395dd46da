#include "studies/paths/path_draws.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/random.h"

namespace rankfall {
namespace {

// The attentions of a network, in order; those without a skip lie on every path.
std::vector<const SubLayer*> attentions(const Network& network) {
  std::vector<const SubLayer*> out;
  for (const SubLayer& layer : network.layers) {
    if (layer.attention()) out.push_back(&layer);
  }
  return out;
}

}  // namespace

std::vector<Index> possible_lengths(const Network& network) {
  for (const SubLayer& layer : network.layers) {
    if (!layer.attention() && layer.skip == 0) return {};
  }
  const auto all = attentions(network);
  const auto fixed = std::ranges::count_if(all, [](const SubLayer* layer) { return layer->skip == 0; });
  std::vector<Index> lengths;
  for (auto k = static_cast<Index>(fixed); k <= std::ssize(all); ++k) lengths.push_back(k);
  return lengths;
}

std::vector<DrawnPath> draw_paths(const Network& network, std::uint64_t seed, Index length, Index count,
                                  std::size_t n_samples) {
  const auto all = attentions(network);
  const RandomKey key = random_key(seed, fmt::format("paths of length {}", length));
  // Words of one path: its sample, then for each attention its place in a random order, and its head.
  const auto per_path = static_cast<Index>(1 + 2 * all.size());
  const auto integer = [&](Index path, Index word, std::int32_t bound) {
    std::int32_t value = 0;
    fill_integers(key, path * per_path + word, std::span(&value, 1), bound);
    return value;
  };
  std::vector<DrawnPath> out(static_cast<std::size_t>(count));
  for (Index p = 0; p < count; ++p) {
    DrawnPath& drawn = out[static_cast<std::size_t>(p)];
    drawn.sample = static_cast<std::size_t>(integer(p, 0, static_cast<std::int32_t>(n_samples)));
    std::vector<std::size_t> free;
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < all.size(); ++i) (all[i]->skip == 0 ? used : free).push_back(i);
    // The first places of a random order (Fisher and Yates).
    for (std::size_t i = 0; std::ssize(used) < length; ++i) {
      const auto left = static_cast<std::int32_t>(free.size() - i);
      std::swap(free[i], free[i + static_cast<std::size_t>(integer(p, 1 + static_cast<Index>(i), left))]);
      used.push_back(free[i]);
    }
    std::ranges::sort(used);
    for (const std::size_t i : used) {
      const auto n_heads = static_cast<std::int32_t>(all[i]->attention()->n_heads);
      drawn.path.heads.push_back({all[i]->block, integer(p, static_cast<Index>(1 + all.size() + i), n_heads)});
    }
  }
  return out;
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

}  // namespace rankfall
