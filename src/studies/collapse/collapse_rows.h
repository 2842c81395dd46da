#pragma once

#include <vector>

#include "studies/collapse/collapse_curves.h"
#include <rankfall/result.h>

namespace rankfall {

// Everything about one variant, as collapse.h says; with each_sample also the rows of single samples.
std::vector<Row> collapse_rows(CollapseCurves curves, bool each_sample, bool arithmetic = false);

}  // namespace rankfall
