#pragma once

#include <string>

#include <rankfall/report.h>

namespace rankfall {

// The result of `audit` for people: each claim with its statement, verdict and evidence.
std::string audit_table(const Result& result, const TableOptions& options);

}  // namespace rankfall
