#pragma once

#include <string>

#include <rankfall/report.h>
#include <rankfall/result.h>

namespace rankfall {

// A line a fact.
std::string doctor_table(const Result& result, const TableOptions& options);

}  // namespace rankfall
