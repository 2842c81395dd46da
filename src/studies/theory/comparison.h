#pragma once

#include <span>
#include <string>

#include <rankfall/result.h>
#include <rankfall/theory.h>

namespace rankfall {

// Measures the networks of a prediction, with each of the seeds, and adds rows measured.METRIC (mean and deviation over
// seeds) and deviations.METRIC for every predicted value.
void add_comparison(std::span<const std::string> models, const TheoryOptions& options, Result& result);

}  // namespace rankfall
