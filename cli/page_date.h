#pragma once

#include <string>

namespace rankfall::cli {

// Today in UTC, 2026-11-18, or the day that SOURCE_DATE_EPOCH names, so that a page can be made again byte by byte.
std::string page_date();

}  // namespace rankfall::cli
