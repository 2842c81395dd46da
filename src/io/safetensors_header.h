#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rankfall {

// The format's own limit, and ours: enough for any model, too few to hurt.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr std::size_t kMaxSafetensorsEntries = 1'000'000;
inline constexpr std::size_t kMaxTensorDimensions = 64;

// A safetensors header as written, checked for form alone; nothing is known yet about sizes and offsets.
struct SafetensorsHeader {
  struct Entry {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0, end = 0;  // data_offsets
  };
  std::vector<Entry> entries;  // in the order of the text; names differ
  std::map<std::string, std::string> metadata;
};

// {"__metadata__": {text: text}, name: {"dtype": text, "shape": [n...], "data_offsets": [begin, end]}, ...}
// Other keys inside a tensor's object are ignored, as the reference implementation does. Throws Error (kInput).
SafetensorsHeader parse_safetensors_header(std::string_view text, std::string_view where);

}  // namespace rankfall
