// SafetensorsFile::parse on any bytes: it throws Error, or its tensors lie inside the bytes and agree with their
// shapes. A second, plain reader (tests/io/plain_safetensors.h) must be of the same opinion.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz_check.h"
#include "io/dtype.h"
#include "io/safetensors.h"
#include "tests/io/plain_safetensors.h"
#include <rankfall/error.h>

namespace {

using namespace rankfall;

void check(std::span<const std::byte> bytes) {
  const auto plain = plain::read_safetensors({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::shared_ptr<const SafetensorsFile> file;
  try {
    file = SafetensorsFile::parse(bytes, "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    FUZZ_CHECK(!plain);
    return;
  }
  FUZZ_CHECK(plain && plain->size() == file->tensors().size());
  std::uint64_t n_data = 0;  // which ends the file
  for (const auto& [name, tensor] : *plain) n_data = std::max(n_data, tensor.end);
  const std::byte* plain_data = bytes.data() + (bytes.size() - n_data);
  std::size_t total = 0;
  for (const TensorInfo& tensor : file->tensors()) {
    FUZZ_CHECK(file->find(tensor.name) == &tensor);
    const auto twin = plain->find(tensor.name);
    FUZZ_CHECK(twin != plain->end() && twin->second.dtype == tensor.dtype_name);
    FUZZ_CHECK(std::equal(tensor.shape.begin(), tensor.shape.end(), twin->second.shape.begin(),
                          twin->second.shape.end(),
                          [](Index a, std::uint64_t b) { return static_cast<std::uint64_t>(a) == b; }));
    FUZZ_CHECK(tensor.bytes.size() == twin->second.end - twin->second.begin);
    FUZZ_CHECK(tensor.bytes.empty() || tensor.bytes.data() == plain_data + twin->second.begin);
    total += tensor.bytes.size();
    FUZZ_CHECK(tensor.size() >= 0);
    if (!tensor.supported) continue;
    const auto n = static_cast<std::size_t>(tensor.size());
    FUZZ_CHECK(tensor.bytes.size() == n * dtype_size(tensor.dtype));
    std::vector<float> narrow(n);
    std::vector<double> wide(n);
    widen<float>(tensor.dtype, tensor.bytes, narrow);
    widen<double>(tensor.dtype, tensor.bytes, wide);
    if (is_integer(tensor.dtype)) FUZZ_CHECK(read_integers(tensor.dtype, tensor.bytes).size() == n);
  }
  FUZZ_CHECK(total < bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes);
  // Once more as a header alone, before 16 bytes of data: the fuzzer need not guess the length in front.
  std::vector<std::byte> file(sizeof(std::uint64_t) + size + 16);
  const std::uint64_t length = size;
  std::memcpy(file.data(), &length, sizeof length);
  if (size > 0) std::memcpy(file.data() + sizeof length, data, size);
  check(file);
  return 0;
}
