#pragma once

#include <string>

#include <rankfall/report.h>

namespace rankfall {

// The result of `paths` for people: for each model and variant the views it has, of the sums by length only the
// output's.
std::string path_tables(const Result& result, const TableOptions& options);

// The result of `counts`: one architecture by length, with bars; several as a table with a small plot each.
std::string count_tables(const Result& result, const TableOptions& options);

}  // namespace rankfall
