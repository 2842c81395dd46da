#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <rankfall/result.h>

namespace rankfall {

// Appends an entry, or replaces the value of the entry that has this key.
void add(Manifest& manifest, std::string_view key, ManifestValue value);

// Seeds are unsigned; those above 2^63 - 1 become decimal text.
template <std::same_as<std::uint64_t> T>
void add(Manifest& manifest, std::string_view key, T value) {
  const bool fits = std::in_range<std::int64_t>(value);
  add(manifest, key, fits ? ManifestValue(static_cast<std::int64_t>(value)) : ManifestValue(std::to_string(value)));
}

// The value of that key, or nullptr. Valid until the manifest changes.
const ManifestValue* find(const Manifest& manifest, std::string_view key);

// The text of that key; empty if there is none.
std::string text_of(const Manifest& manifest, std::string_view key);

// What is true of every result: "rankfall" (version) and "cpu" (the processor's name, "unknown" if the system does not
// say).
Manifest base_manifest();

}  // namespace rankfall
