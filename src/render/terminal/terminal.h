#pragma once

#include <string>

#include "view/view.h"
#include <rankfall/report.h>

namespace rankfall {

// The view as text for a terminal: every figure that is not a detail, what its marks mean, and the small print.
std::string terminal_text(const View& view, const TableOptions& options);

}  // namespace rankfall
