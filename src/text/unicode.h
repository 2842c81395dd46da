#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/utf8.h"

// Unicode as tokenizers need it: classes of code points and whole-text mappings, by ICU. Texts are well-formed UTF-8
// (valid_utf8 of io/utf8.h makes them so).

namespace rankfall {

// General categories, by the first letters of their names.
bool is_letter(char32_t c);          // L*
bool is_number(char32_t c);          // N*
bool is_punctuation(char32_t c);     // P*
bool is_other(char32_t c);           // C*: control, format, private, unassigned, surrogate
bool is_unassigned(char32_t c);      // Cn
bool is_space_mark(char32_t c);      // Zs
bool is_accent(char32_t c);          // Mn
bool is_mark(char32_t c);            // M*
bool is_combining(char32_t c);       // canonical combining class not 0
bool is_white_space(char32_t c);     // the property White_Space
bool is_python_space(char32_t c);    // what Python's str.split() splits at: White_Space and U+001C..U+001F
bool is_digit(char32_t c);           // decimal digits and digit-like characters: Python's str.isdigit()
bool is_word_character(char32_t c);  // \w: alphabetic, marks, decimal digits, connectors, joiners
bool is_cjk(char32_t c);             // the blocks of ideographs that BERT sets apart

std::string to_lower(std::string_view text);       // full mapping, no language
std::string to_lower_each(std::string_view text);  // the same code point by code point: no final sigma
std::string to_nfc(std::string_view text);
std::string to_nfd(std::string_view text);
std::string to_nfkc(std::string_view text);
std::string to_nfkd(std::string_view text);

void append_utf8(char32_t c, std::string& out);

// The text without the code points for which `is_dropped` holds.
std::string without(std::string_view text, bool (*is_dropped)(char32_t));

// Calls f for each grapheme, what a reader takes for one character.
void for_each_grapheme(std::string_view text, const std::function<void(std::string_view)>& f);

// Calls f(code point, its bytes as a string_view) for each code point.
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
