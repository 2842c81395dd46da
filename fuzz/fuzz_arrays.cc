// A file of samples of any bytes (safetensors, npy, JSON, told apart by the reader): it throws Error (kInput), or every
// sample has the bytes that its shape says.
#include <cstdint>
#include <vector>

#include "fuzz_check.h"
#include "io/array_file.h"
#include "io/dtype.h"
#include "memory_file.h"
#include <rankfall/error.h>

using namespace rankfall;

namespace {

void check(const SampleArrays& samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Array sample = samples[i];
    std::size_t n = 1;
    for (const Index size : sample.shape) n *= static_cast<std::size_t>(size);
    FUZZ_CHECK(sample.bytes.size() == n * dtype_size(sample.dtype));
    std::vector<double> values(n);
    widen<double>(sample.dtype, sample.bytes, values);  // touches every byte
  }
}

template <class Read>
void try_to(const Read& read) {
  try {
    read();
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile memory(data, size);
  try_to([&] {
    const ArrayFile file(memory.path());
    for (const std::size_t rank : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
      try_to([&] { check(file.samples("input_ids", rank)); });
      try_to([&] { check(file.samples_if_present("valid", rank)); });
    }
  });
  try_to([&] {  // of JSON, the first entries only
    const SampleArrays first = ArrayFile(memory.path(), 1, 1).samples("input_ids", 1);
    if (!first.empty()) static_cast<void>(first[0]);
  });
  return 0;
}
