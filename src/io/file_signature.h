#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace rankfall {

// What a file looks like, judged by its first bytes, when it is not what it was taken for: a phrase that follows "FILE:
// " in a message and says what to do. Empty if nothing is known. Only for files already found wrong: the first bytes of
// a sound safetensors file are a length and may look like anything.
std::string_view describe_signature(std::span<const std::byte> bytes);

}  // namespace rankfall
