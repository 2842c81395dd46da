#pragma once

#include <string>

#include <rankfall/report.h>

namespace rankfall {

// The result of `audit` for people, or an agreement with the paper: each claim with its statement or criterion, verdict
// and evidence.
std::string audit_table(const Result& result, const TableOptions& options);

}  // namespace rankfall
