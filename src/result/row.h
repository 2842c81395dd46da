#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <rankfall/result.h>

// The columns of a result, in order: the one list behind CSV, JSON and the plain table. Thread-safe: constant.

namespace rankfall {

// monostate is an absent value.
using CellValue = std::variant<std::monostate, std::string, std::int64_t, std::uint64_t, double>;

struct Column {
  std::string_view name;
  std::string_view expected;  // what a value must be, for error texts: "text", "a finite number", ...
  // Empty strings and numbers that are not finite are absent.
  CellValue (*get)(const Row&);
  // False, and the row is unchanged, if the value is not what is expected. An absent value always fits.
  bool (*set)(Row&, const CellValue&);
};

std::span<const Column> columns();

// The column of that name, or nullptr.
const Column* find_column(std::string_view name);

}  // namespace rankfall
