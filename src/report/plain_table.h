#pragma once

#include <string>
#include <vector>

#include <rankfall/report.h>

namespace rankfall {

// Rows as an aligned table of the columns that are not empty. Columns with one value throughout are said once, above.
// Text columns are cut as far as needed to fit options.width, and if that is not enough the last columns are left out,
// which a line below says. Ends with a newline.
std::string plain_table(const std::vector<const Row*>& rows, const TableOptions& options);

}  // namespace rankfall
