#pragma once

#include <array>
#include <string_view>

#include "network/config.h"
#include <rankfall/network.h>

namespace rankfall {

// The network a configuration describes, by its model_type; fails on unknown families, listing the known ones.
Network make_network(const Config& config);

// How files of a family name what the description names: an optional prefix before every name, or another one, and
// other places where the word table may be.
struct FamilyNames {
  std::string_view prefix;
  std::string_view words;
  std::array<std::string_view, 2> same;  // other names of the word table
  std::string_view tied;                 // the output's table, where config.json says that it is the same
  bool is_tied = true;                   // where config.json does not say
  std::array<std::string_view, 2> prefixes = {};
};
const FamilyNames& family_names(std::string_view family);

}  // namespace rankfall
