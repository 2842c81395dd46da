#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Hashes with a key that is drawn once per process. Tables of what files hold use them, so that nobody can make a file
// whose entries all collide. No result may depend on their values or on an order that follows from them.

namespace rankfall {

std::uint64_t keyed_hash(std::string_view bytes);
std::uint64_t keyed_hash(std::uint64_t value);

// For std::unordered_map.
struct KeyedHash {
  std::size_t operator()(std::uint64_t value) const { return keyed_hash(value); }
};

}  // namespace rankfall
