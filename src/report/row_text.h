#pragma once

#include <span>
#include <string>
#include <vector>

#include "result/row.h"
#include <rankfall/result.h>

namespace rankfall {

// The pieces that CSV and JSON are made of, row by row.
using CsvColumns = std::vector<const Column*>;
// The columns in which some row has a value; metric and mean always.
CsvColumns csv_columns(std::span<const Row> rows);
std::string csv_header(const CsvColumns& columns);
std::string csv_line(const Row& row, const CsvColumns& columns);

std::string json_begin(const Result& result);  // its rows are not looked at
std::string json_row(const Row& row, bool is_first_row);
std::string json_end(bool any_row);

// {"rankfall": ..., "schema": ..., "command": ..., "manifest": {...}}: what stands beside a CSV file.
std::string manifest_json(const Result& result);

}  // namespace rankfall
