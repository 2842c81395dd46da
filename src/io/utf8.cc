#include "io/utf8.h"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace rankfall {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool is_confusing(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) ||        // C0, DEL, C1
         c == 0x200e || c == 0x200f || c == 0x061c ||  // direction marks
         (c >= 0x2028 && c <= 0x202e) ||               // line separators, direction overrides
         (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;  // direction isolates, byte-order mark
}

}  // namespace

Utf8Unit utf8_decode(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return {.code = lead, .length = 1, .valid = true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned next = byte_at(text, i);
    if ((next & 0xc0U) != 0x80) return {};
    code = (code << 6) | (next & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (overlong || surrogate || code > 0x10ffff) return {};
  return {.code = code, .length = length, .valid = true};
}

std::size_t utf8_first_error(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    // Eight ASCII bytes at a time: headers are long and nearly always ASCII.
    std::uint64_t word = 0;
    if (text.size() - i >= sizeof word) {
      std::memcpy(&word, text.data() + i, sizeof word);
      if ((word & 0x8080808080808080U) == 0) {
        i += sizeof word;
        continue;
      }
    }
    const Utf8Unit unit = utf8_decode(text.substr(i));
    if (!unit.valid) return i;
    i += unit.length;
  }
  return i;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    const Utf8Unit unit = utf8_decode(text.substr(i));
    if (i + unit.length > max_bytes) return out + "...";
    if (!unit.valid || unit.code < 0x80) {
      const unsigned byte = byte_at(text, i);
      out += unit.valid && !is_confusing(unit.code) ? std::string(1, text[i]) : fmt::format("\\x{:02x}", byte);
    } else if (is_confusing(unit.code)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(unit.code));
    } else {
      out += text.substr(i, unit.length);
    }
    i += unit.length;
  }
  return out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Unit unit = utf8_decode(text.substr(at));
    out += unit.valid ? text.substr(at, unit.length) : "\xef\xbf\xbd";
    at += unit.length;
  }
  return out;
}

}  // namespace rankfall
