#pragma once

#include <string>
#include <string_view>
#include <vector>

// Text laid out in terminal columns. Widths are those of the characters on screen: East Asian wide ones count two,
// combining ones none. Nothing here knows colour: lay out first, paint after.

namespace rankfall {

// Any text, harmless on a terminal; without Unicode known signs are spelled out (the norm's bars as ||, a square root
// as sqrt), others as \\u{N}.
std::string screen_text(std::string_view text, bool unicode);

int display_width(std::string_view text);

// Exactly `width` columns: filled with spaces at the right (or left), or cut with an ellipsis.
enum class Align { kLeft, kRight };
std::string fit(std::string_view text, int width, Align align = Align::kLeft, bool unicode = true);

// Lines of at most `width` columns, broken at spaces; a longer word is cut. There is at least one line.
std::vector<std::string> wrap(std::string_view text, int width, bool unicode = true);

}  // namespace rankfall
