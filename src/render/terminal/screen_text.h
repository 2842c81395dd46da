#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <rankfall/prose.h>

// Text laid out in terminal columns. Widths are those of the characters on screen: East Asian wide ones count two,
// combining ones none. Nothing here knows colour: lay out first, paint after.

namespace rankfall {

// A name from outside, harmless on a terminal: control characters and the like are spelled out (io/utf8.h), and without
// Unicode everything beyond ASCII too.
std::string screen_name(std::string_view name, bool unicode);

// A sentence of a result, which may come from a file.
std::string screen_prose(const Prose& prose, bool unicode);

// Any text, harmless on a terminal; without Unicode known signs are spelled out (the norm's bars as ||, a square root
// as sqrt), others as \\u{N}.
std::string screen_text(std::string_view text, bool unicode);

// Our own text without Unicode: known signs are spelled out (the norm's bars as ||, a square root as sqrt, ...), others
// '?'.
std::string to_ascii(std::string_view text);

// The same text with every sequence that is not UTF-8 as U+FFFD.
std::string valid_utf8(std::string_view text);

int display_width(std::string_view text);

// Exactly `width` columns: filled with spaces at the right (or left), or cut with an ellipsis.
enum class Align { kLeft, kRight };
std::string fit(std::string_view text, int width, Align align = Align::kLeft, bool unicode = true);

// Lines of at most `width` columns, broken at spaces; a longer word is cut. There is at least one line.
std::vector<std::string> wrap(std::string_view text, int width, bool unicode = true);

}  // namespace rankfall
