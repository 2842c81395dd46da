#pragma once

#include <string>
#include <string_view>

#include "report/layer_block.h"
#include <rankfall/report.h>

namespace rankfall {

// A block as the terminal shows it: title, one line a layer with value and bar per variant (in several pieces if the
// variants do not fit side by side), and what became of each variant's relative residual. Ends with a newline.
// precision: "float32 ", "float64 " or empty.
std::string block_text(const LayerBlock& block, std::string_view precision, const TableOptions& options);

}  // namespace rankfall
