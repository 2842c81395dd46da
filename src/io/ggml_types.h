#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// How ggml stores weights: in blocks, each with its own scale (docs/formats.md).

namespace rankfall {

struct GgmlType {
  std::uint32_t number = 0;
  std::string_view name;
  std::size_t block = 1;  // weights in a block
  std::size_t bytes = 0;  // of a block; 0: of a type that rankfall does not read
};

// Null for a number that the format does not have.
const GgmlType* ggml_type(std::uint32_t number);
bool is_readable(const GgmlType& type);
// "F32, F16, ...": the types that are read.
std::string_view readable_ggml_types();

// The values of whole blocks as ggml computes them in single precision, without fused multiply-add, hence bit for bit.
// Requires out.size() to be a multiple of type.block, and bytes.size() its bytes. F64 rounds to float.
void dequantise(const GgmlType& type, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace rankfall
