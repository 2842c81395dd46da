#pragma once

#include <string_view>

#include <rankfall/result.h>

namespace rankfall {

// Results of version 0.1 said what became of a value in words alone (schema 1). Gives such a row of `command` its
// status, reason and basis, from the words that 0.1 wrote: the only place that reads them.
void upgrade_row(std::string_view command, std::string_view verdict, Row& row);

}  // namespace rankfall
