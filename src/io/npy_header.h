#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankfall {

// What the dictionary at the beginning of a .npy file says.
struct NpyHeader {
  std::string descr;  // such as "<f8"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Parses {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }: exactly these three keys, in any order; nothing
// is evaluated. Throws Error (kInput).
NpyHeader parse_npy_header(std::string_view text, std::string_view where);

}  // namespace rankfall
