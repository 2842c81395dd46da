#pragma once

#include <rankfall/export.h>

namespace rankfall {

// Number of threads the library uses, 1 or more. Default: the cores this process may run on. Not a part of any result:
// results are bit-identical for every value. Process-wide; set it before calling anything else, not during a call.
RANKFALL_API void set_threads(int n);
RANKFALL_API int threads();

}  // namespace rankfall
