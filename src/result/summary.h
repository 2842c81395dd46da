#pragma once

#include <vector>

#include <rankfall/result.h>

namespace rankfall {

// The rows that speak for the result: those of single seeds or samples are left out where rows of the same model and
// metric without one exist, and those of a precision (kind "f32", "f64") where there are exact ones. In order; valid as
// long as the result.
std::vector<const Row*> summary_rows(const Result& result);

}  // namespace rankfall
