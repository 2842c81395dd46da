#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "network/config.h"
#include <rankfall/network.h>

namespace rankfall {

// What a family says about rotary positions where its config.json does not.
struct RotaryRule {
  Index d_head = 1;
  double base = 10000;
  std::string_view base_key = "rope_theta";
  double share = 1;                  // of a head's channels that are turned
  bool scaled = true;                // 'rope_scaling' counts
  std::string_view layer_type = {};  // newer files: the entry of 'rope_parameters' for layers of this type
};

// From 'rope_theta', 'partial_rotary_factor' and 'rope_scaling', or, as newer files have it, from 'rope_parameters'.
Positions rotary_positions(const Config& config, const RotaryRule& rule);

// The layers that see a window of keys only: 'layer_types' where it is given, otherwise by the family's rule.
std::vector<bool> windowed_layers(const Config& config, Index n_layers, bool (*rule)(const Config&, Index layer));

// The window of a causal mask that lets a query see `n_keys` keys, itself among them, and the 'sliding_window' of
// config.json as such; absent without one. `fallback` counts where the key does not stand there at all.
std::optional<Index> sliding_window(const Config& config, std::optional<Index> fallback);

}  // namespace rankfall
