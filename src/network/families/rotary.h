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
  double share = 1;                                // of a head's channels that are turned
  std::string_view share_key = {};                 // empty: the original turns whole heads
  Index n_positions = 2048;                        // 'max_position_embeddings' where it is absent
  Index original = 0;                              // of longrope: the length it stretches; 0: as the file says
  bool yarn_is_longrope = false;                   // Phi-3's first files called longrope so
  bool scaled = true;                              // false: neither 'rope_scaling' nor flat 'rope_parameters' counts
  bool own_base = false;                           // not the base of flat 'rope_parameters'
  std::string_view layer_type = "full_attention";  // newer files: the entry of 'rope_parameters' for such layers
};

// From 'rope_theta', 'partial_rotary_factor' and 'rope_scaling', or, as newer files have it, from 'rope_parameters'.
Positions rotary_positions(const Config& config, const RotaryRule& rule);

// The layers that see a window of keys only: 'layer_types' where it is given, otherwise by the family's rule.
std::vector<bool> windowed_layers(const Config& config, Index n_layers, bool (*rule)(const Config&, Index layer));

// A number of keys that a query sees, itself among them. One key is refused: the description has no such window.
Index window_of(const Config& config, std::string_view key);

// The 'sliding_window' of config.json; absent where it is null. `fallback` counts where the key does not stand there at
// all.
std::optional<Index> sliding_window(const Config& config, std::optional<Index> fallback);

}  // namespace rankfall
