#pragma once

#include <string>
#include <string_view>

namespace rankfall {

// A formula of the metric registry in TeX: "‖X‖₂² / n" as "\lVert X \rVert_2^2 / n", words as \text{...}. Empty if
// there is no mathematical sign in it: then it is a sentence. Backslashes stand before letters only, since GitHub's
// Markdown removes those before punctuation.
std::string to_tex(std::string_view formula);

}  // namespace rankfall
