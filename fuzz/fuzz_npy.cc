// parse_npy on any bytes: it throws Error, or the array's bytes agree with its shape.
#include <cstdint>
#include <vector>

#include "fuzz_check.h"
#include "io/dtype.h"
#include "io/npy.h"
#include "io/npy_header.h"
#include <rankfall/error.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    parse_npy_header({reinterpret_cast<const char*>(bytes.data()), size}, "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
  }
  NpyArray array;
  try {
    array = parse_npy(bytes, "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    return 0;
  }
  std::size_t n = 1;
  for (const Index d : array.shape) {
    FUZZ_CHECK(d >= 0);
    n *= static_cast<std::size_t>(d);
  }
  FUZZ_CHECK(array.bytes.size() == n * dtype_size(array.dtype));
  std::vector<double> values(n);
  widen<double>(array.dtype, array.bytes, values);
  return 0;
}
