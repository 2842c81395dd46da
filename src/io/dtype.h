#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/dcheck.h"
#include <rankfall/model.h>

namespace rankfall {

static_assert(std::endian::native == std::endian::little, "tensors in files are little-endian and are read in place");

// The names are those of safetensors: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL.
std::size_t dtype_size(DType dtype);
std::string_view dtype_name(DType dtype);
bool is_integer(DType dtype);  // I64 I32 I16 I8 U8 BOOL

// Elements as they lie in files, where C++ has no type of its own.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Bool8 {
  std::uint8_t bits;
};

// Calls f.template operator()<T>() with the element type of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF64:
      return f.template operator()<double>();
    case DType::kF32:
      return f.template operator()<float>();
    case DType::kF16:
      return f.template operator()<Half>();
    case DType::kBF16:
      return f.template operator()<BFloat16>();
    case DType::kI64:
      return f.template operator()<std::int64_t>();
    case DType::kI32:
      return f.template operator()<std::int32_t>();
    case DType::kI16:
      return f.template operator()<std::int16_t>();
    case DType::kI8:
      return f.template operator()<std::int8_t>();
    case DType::kU8:
      return f.template operator()<std::uint8_t>();
    case DType::kBool:
      return f.template operator()<Bool8>();
  }
  throw Bug("visit_dtype: no such dtype");
}

// The value of an element, exact: every Half and BFloat16 is a float; a NaN stays a NaN.
inline float element_value(Half h) {
  // Masks instead of branches, so that loops become vector code, and no intermediate is a subnormal float, so that
  // flush-to-zero mode changes nothing.
  const std::uint32_t exponent = h.bits & 0x7c00U;
  const std::uint32_t sign = (h.bits & 0x8000U) << 16;
  const std::uint32_t rebias = (127U - 15U) << 23;
  const std::uint32_t is_small = exponent == 0 ? ~0U : 0U;
  const std::uint32_t is_special = exponent == 0x7c00U ? ~0U : 0U;
  // Infinity and NaN: exponent 31 -> 255. Zero and subnormals: m * 2^-24 = (1 + m / 1024) * 2^-14 - 2^-14, exact in
  // float; others subtract zero.
  const std::uint32_t magnitude = ((h.bits & 0x7fffU) << 13) + rebias + (is_special & rebias) + (is_small & (1U << 23));
  const float offset = std::bit_cast<float>(is_small & (rebias + (1U << 23)));
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) - offset));
}
inline float element_value(BFloat16 b) { return std::bit_cast<float>(std::uint32_t{b.bits} << 16); }
inline std::uint8_t element_value(Bool8 b) { return b.bits != 0 ? 1 : 0; }
template <class T>
requires std::is_arithmetic_v<T> T element_value(T value) { return value; }

// Element i of a tensor's bytes, at any alignment.
template <class Stored>
Stored load_element(const std::byte* bytes, std::size_t i) {
  Stored stored;
  std::memcpy(&stored, bytes + i * sizeof stored, sizeof stored);
  return stored;
}

// Element i as Out: a wide type such as Boost.Multiprecision's, for which it is exact, or float or double.
template <class Out>
Out widen_element(DType dtype, const std::byte* bytes, std::size_t i) {
  return visit_dtype(dtype,
                     [&]<class Stored>() { return static_cast<Out>(element_value(load_element<Stored>(bytes, i))); });
}

// out[i] = element i. Exact except F64, I64 and I32 to float and I64 to double, which round to nearest. The bytes may
// have any alignment and must not overlap out. Requires bytes.size() == out.size() * dtype_size(dtype). Out: float,
// double.
template <class Out>
void widen(DType dtype, std::span<const std::byte> bytes, std::span<Out> out);

// The elements of an integer tensor; BOOL gives 0 and 1. Throws Error (kInput) if the dtype is not an integer one.
std::vector<std::int64_t> read_integers(DType dtype, std::span<const std::byte> bytes);

}  // namespace rankfall
