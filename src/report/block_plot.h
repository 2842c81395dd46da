#pragma once

#include <string>

#include "report/layer_block.h"
#include <rankfall/report.h>

namespace rankfall {

// The curves of a block in characters, its lines (layers, lengths, steps) from left to right. Values that span decades
// have a logarithmic axis. For log10 metrics the axis is logarithmic in the exponent, so that doubly exponential decay
// is a straight line; dotted across: where float32 and float64 end. Empty if the block's lines are not numbers.
std::string block_plot(const LayerBlock& block, const TableOptions& options);

}  // namespace rankfall
