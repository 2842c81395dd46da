#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <rankfall/model.h>

namespace rankfall {

// An array of NumPy, row-major; `keep` holds the bytes alive (a mapped file, or a copy made for Fortran order).
// Shape and bytes agree; the product of any of the sizes in `shape` (zeros left out) fits an Index.
struct NpyArray {
  DType dtype = DType::kF64;
  std::vector<Index> shape;          // empty: one element
  std::span<const std::byte> bytes;  // at any alignment
  std::shared_ptr<const void> keep;
};

// Reads a .npy file, version 1 to 3, of little-endian f8 f4 f2 i8 i4 i2 i1 u1 b1; Fortran order is rearranged.
// Throws Error (kInput) for everything else.
NpyArray read_npy(const std::filesystem::path& path);

// The same on bytes in memory, which must outlive the result unless result.keep is set; `where` begins the messages.
NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view where);

}  // namespace rankfall
