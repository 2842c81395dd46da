#pragma once

#include <string>

#include <rankfall/report.h>

namespace rankfall {

// The result of `lowrank` for people: for each model and variant the spectra of attention by block, the second singular
// value against the number of tokens and what Johnson-Lindenstrauss gives; then how far other kinds of attention lead
// away.
std::string lowrank_tables(const Result& result, const TableOptions& options);

}  // namespace rankfall
