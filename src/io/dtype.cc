#include "io/dtype.h"

#include <fmt/format.h>

#include "base/errors.h"

namespace rankfall {
namespace {

template <class Stored, class Out>
void widen_all(const std::byte* bytes, std::span<Out> out) {
  if constexpr (std::is_same_v<Stored, Out>) {
    if (!out.empty()) std::memcpy(out.data(), bytes, out.size_bytes());
  } else {
    // Local copies: stores to out could otherwise change the span itself for all the compiler knows.
    Out* const to = out.data();
    const std::size_t n = out.size();
    for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<Out>(element_value(load_element<Stored>(bytes, i)));
  }
}

}  // namespace

std::size_t dtype_size(DType dtype) {
  return visit_dtype(dtype, []<class Stored>() { return sizeof(Stored); });
}

std::string_view dtype_name(DType dtype) {
  constexpr std::string_view kNames[] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"};
  return kNames[static_cast<std::size_t>(dtype)];
}

bool is_integer(DType dtype) {
  return dtype != DType::kF64 && dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16;
}

template <class Out>
void widen(DType dtype, std::span<const std::byte> bytes, std::span<Out> out) {
  const std::size_t size = dtype_size(dtype);
  if (bytes.size() / size != out.size() || bytes.size() % size != 0) {
    throw Bug(
        fmt::format("widen: {} bytes of {} do not fill {} elements", bytes.size(), dtype_name(dtype), out.size()));
  }
  visit_dtype(dtype, [&]<class Stored>() { widen_all<Stored>(bytes.data(), out); });
}
template void widen<float>(DType, std::span<const std::byte>, std::span<float>);
template void widen<double>(DType, std::span<const std::byte>, std::span<double>);

std::vector<std::int64_t> read_integers(DType dtype, std::span<const std::byte> bytes) {
  if (!is_integer(dtype)) {
    throw input_error("elements are {}, expected integers (I64 I32 I16 I8 U8 BOOL)", dtype_name(dtype));
  }
  const std::size_t size = dtype_size(dtype);
  if (bytes.size() % size != 0) throw Bug("read_integers: a part of an element");
  std::vector<std::int64_t> out(bytes.size() / size);
  visit_dtype(dtype, [&]<class Stored>() {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::int64_t>(element_value(load_element<Stored>(bytes.data(), i)));
    }
  });
  return out;
}

}  // namespace rankfall
