// What people type: a network's specification, and a condition. They throw Error (kUsage), or the network has tensors
// that fit it, and the condition is written as it was read.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz_check.h"
#include <rankfall/error.h>
#include <rankfall/model.h>
#include <rankfall/threshold.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Model model = open_model("san:" + std::string(text), 0);
    FUZZ_CHECK(model.network.sizes.n_blocks > 0 && model.network.sizes.d_model > 0);
    for (const SubLayer& layer : model.network.layers) FUZZ_CHECK(layer.block < model.network.sizes.n_blocks);
    for (const TensorSpec& tensor : model.network.tensors)
      FUZZ_CHECK(tensor.matrix_rows() > 0 && tensor.matrix_cols() > 0);
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kUsage);
  }
  try {
    const Threshold threshold = parse_threshold(text);
    FUZZ_CHECK(parse_threshold(to_string(threshold)) == threshold);
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kUsage);
  }
  return 0;
}
