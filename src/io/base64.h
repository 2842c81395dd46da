#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rankfall {

// The bytes of a text in base64, with its padding; nothing if it is none.
std::optional<std::string> decode_base64(std::string_view text);

std::string encode_base64(std::string_view bytes);

}  // namespace rankfall
