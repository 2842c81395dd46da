#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace rankfall {

// 64 hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace rankfall
