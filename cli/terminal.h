#pragma once

// What the command's streams are connected to.

namespace rankfall::cli {

bool is_terminal(int descriptor);

// Columns of the terminal behind a descriptor; `otherwise` if it is none or does not say.
int terminal_width(int descriptor, int otherwise);

// A terminal, NO_COLOR (no-color.org) unset or empty, and TERM not "dumb".
bool wants_colour(int descriptor);

// False only if the locale names another character set than UTF-8; an unset locale counts as UTF-8.
bool wants_unicode();

}  // namespace rankfall::cli
