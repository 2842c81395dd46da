#pragma once

#include <rankfall/report.h>
#include <rankfall/result.h>

namespace rankfall::python {

// A result, and what of it a table shows.
struct ShownResult {
  Result result;
  TableOptions table;
};

}  // namespace rankfall::python
