#pragma once

#include <string>

#include "report/layer_block.h"
#include <rankfall/report.h>

namespace rankfall {

// The curves of a log10 block in characters, layers from left to right. Downwards the axis is logarithmic in the
// exponent, so that doubly exponential decay is a straight line; dotted across: where float32 and float64 end.
std::string depth_plot(const LayerBlock& block, const TableOptions& options);

}  // namespace rankfall
