#pragma once

#include <string>

#include <rankfall/result.h>

namespace rankfall {

// The pieces that CSV and JSON are made of, row by row.
std::string csv_header();
std::string csv_line(const Row& row);

std::string json_begin(const Result& result);  // its rows are not looked at
std::string json_row(const Row& row, bool is_first_row);
std::string json_end(bool any_row);

}  // namespace rankfall
