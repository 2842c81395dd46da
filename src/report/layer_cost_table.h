#pragma once

#include <string>

#include <rankfall/report.h>

namespace rankfall {

// What layers cost, a line each: time by number of tokens, memory, exponents of growth, what theory says. Empty if the
// result has no times.
std::string layer_cost_table(const Result& result, const TableOptions& options);

}  // namespace rankfall
