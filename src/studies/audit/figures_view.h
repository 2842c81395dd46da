#pragma once

#include <optional>

#include "view/view.h"

// The figures beside the table of claims; nothing where a result has no rows for them.

namespace rankfall {

// Where each claim was made and what would refute it; Theorem 2.3's ratio over the width (claim 8b), the residual that
// scaled attention keeps (21), and what was measured on networks (22 to 28).
std::optional<Figure> sources_figure(const Result& result);
std::optional<Figure> width_figure(const Result& result);
std::optional<Figure> scaling_figure(const Result& result);
std::optional<Figure> effects_figure(const Result& result);

}  // namespace rankfall
