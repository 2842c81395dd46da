#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace rankfall {

// The 32 bytes of the digest.
std::string sha256_bytes(std::span<const std::byte> bytes);

// 64 hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace rankfall
