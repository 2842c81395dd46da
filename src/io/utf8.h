#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rankfall {

// One code point at the beginning of a text. length: its bytes, 1 to 4; valid is false, and length 1, for a byte that
// begins no well-formed sequence (overlong forms, surrogates and anything above U+10FFFF included).
struct Utf8Unit {
  char32_t code = 0;
  std::size_t length = 1;
  bool valid = false;
};
Utf8Unit utf8_decode(std::string_view text);  // requires a non-empty text

// Offset of the first byte that is not UTF-8; text.size() when there is none.
std::size_t utf8_first_error(std::string_view text);

// Text from a file, fit for a message: whatever could confuse a terminal or a reader (control characters,
// text-direction overrides, bytes that are not UTF-8) is written as \xNN or \u{N}, and anything past `max_bytes`
// becomes "...".
std::string printable(std::string_view text, std::size_t max_bytes = 160);

// printable() in single quotes.
std::string in_quotes(std::string_view text);

// The same text with every sequence that is not UTF-8 as U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace rankfall
