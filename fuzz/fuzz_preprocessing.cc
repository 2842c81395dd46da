// preprocessor_config.json of any bytes, beside one sound image: it throws Error (kInput), or the pixels are as many as
// the model takes, and finite.
#include <cstdint>
#include <string_view>

#include "fuzz_check.h"
#include "fuzz_folder.h"
#include "input/image_inputs.h"
#include <rankfall/error.h>
#include <rankfall/model.h>

using namespace rankfall;

namespace {

// A grey PNG of 6 x 5 pixels.
constexpr unsigned char kImage[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x05, 0x08, 0x00, 0x00, 0x00, 0x00, 0x43, 0x33, 0xc2, 0x3a, 0x00,
    0x00, 0x00, 0x2c, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x60, 0xe0, 0x10, 0x90, 0x50, 0xd0, 0x60,
    0x30, 0xb0, 0x70, 0xf0, 0x08, 0x88, 0x60, 0x48, 0xc8, 0x28, 0xa8, 0x68, 0xe8, 0x60, 0x98, 0x30, 0x63,
    0xc1, 0x8a, 0x0d, 0x3b, 0x18, 0x0e, 0x9c, 0xb8, 0x70, 0xe3, 0xc1, 0x0b, 0x00, 0x9c, 0x8b, 0x0d, 0x99,
    0xba, 0xff, 0xce, 0x74, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

struct Folder : FuzzFolder {
  Folder() { write("image.png", kImage, sizeof kImage); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  static const Network network = network_from_config(
      R"({"model_type": "vit", "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1,
          "intermediate_size": 4, "image_size": 4, "patch_size": 2, "num_channels": 3})",
      "vit");
  folder.write("preprocessor_config.json", data, size);
  InputOptions options;
  options.tokenizer = folder.path().string();
  options.pixels = {(folder.path() / "image.png").string()};
  try {
    const Inputs inputs = image_inputs(network, options);
    FUZZ_CHECK(inputs.samples.size() == 1);
    const auto& pixels = std::get<Pixels>(inputs.samples[0].content);
    FUZZ_CHECK(pixels.values.rows() == 3 && pixels.values.cols() == 16 && pixels.values.allFinite());
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
  }
  return 0;
}
