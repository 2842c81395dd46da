#pragma once

#include <string>

#include <rankfall/report.h>

namespace rankfall {

// The result of `bounds` for people: for each model and variant measured/bound by block and theorem, and a sentence for
// each theorem.
std::string bound_tables(const Result& result, const TableOptions& options);

}  // namespace rankfall
