#pragma once

#include <string>

#include <rankfall/report.h>

namespace rankfall {

// The result of `effectiveness`: accuracy by length, and what it is to be compared with.
std::string effectiveness_tables(const Result& result, const TableOptions& options);

// The result of `circle`: what became of the two tracks.
std::string circle_tables(const Result& result, const TableOptions& options);

}  // namespace rankfall
