#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <rankfall/index.h>

namespace rankfall {

// The largest size or offset we handle: what an Index holds.
inline constexpr auto kMaxSize = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());

// a * b, or nothing if that is above kMaxSize.
inline std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > kMaxSize / b) return std::nullopt;
  return a * b;
}

// Number of elements of an untrusted shape. Nothing if the product of the sizes that are not zero is above kMaxSize:
// then [0, 2^40, 2^40] is refused too, and no product of some of the sizes overflows anywhere else.
inline std::optional<std::uint64_t> checked_element_count(std::span<const std::uint64_t> shape) {
  std::uint64_t product = 1;
  bool empty = false;
  for (const std::uint64_t size : shape) {
    empty = empty || size == 0;
    const auto next = checked_product(product, size == 0 ? 1 : size);
    if (!next) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

}  // namespace rankfall
