#pragma once

#include "report/table_text.h"

namespace rankfall {

// Of rows of `paths`: random paths by length, and the heaviest ones.
void add_single_paths(const Rows& rows, TableText& out);

}  // namespace rankfall
