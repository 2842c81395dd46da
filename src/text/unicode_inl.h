#pragma once

#include "io/utf8.h"

namespace rankfall {

template <class F>
void for_each_code(std::string_view text, const F& f) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    if (first < 0x80) {
      f(char32_t{first}, text.substr(0, 1));
      text.remove_prefix(1);
      continue;
    }
    const Utf8Unit unit = utf8_decode(text);
    f(unit.valid ? unit.code : char32_t{0xFFFD}, text.substr(0, unit.length));
    text.remove_prefix(unit.length);
  }
}

}  // namespace rankfall
