#pragma once

#include <vector>

#include <rankfall/result.h>

namespace rankfall {

// The rows that speak for the result: those of single seeds are left out where rows of the same model and metric
// without a seed exist. In order; valid as long as the result.
std::vector<const Row*> summary_rows(const Result& result);

}  // namespace rankfall
