#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "io/gguf.h"
#include <rankfall/network.h>

namespace rankfall {

// Where llama.cpp's converter puts the outputs of a tensor: of queries and keys of Llama, neighbouring channels turn
// together instead of those of the two halves of a head; of GPT-NeoX and BLOOM, queries, keys and values of all heads
// follow each other instead of those of each head.
enum class GgufOrder { kSame, kNeighbours, kHeadsLast };

// How a tensor of a network is called in a GGUF file. '#' stands for the number of a layer; ends are ".weight" and
// ".bias" on both sides.
struct GgufName {
  std::string_view ours, theirs;
  GgufOrder order = GgufOrder::kSame;
};

// An architecture of llama.cpp as one of our families.
struct GgufArchitecture {
  std::string_view name;        // general.architecture
  std::string_view model_type;  // of config.json
  std::span<const GgufName> names;
  bool turned = false;       // stored [in, out] in the original and [out, in] in the file
  bool whole_gains = false;  // the file has 1 + w where the original stores w
};

// The architecture of a file. Throws Error (kInput) for one that is not read.
const GgufArchitecture& gguf_architecture(const GgufFile& file);

// The config.json that the file's metadata stands for. Throws Error (kInput) where something is missing or is not
// carried by our families.
nlohmann::json gguf_config(const GgufFile& file);

}  // namespace rankfall
