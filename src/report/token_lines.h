#pragma once

#include <string>
#include <vector>

#include <rankfall/report.h>

namespace rankfall {

// Rows of metric "token": the pieces of each sample in lines, with their ids below.
std::string token_lines(const std::vector<const Row*>& rows, const TableOptions& options);

}  // namespace rankfall
