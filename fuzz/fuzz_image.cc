// decode_image on any bytes: Error (kInput), or an image of the size it says, which can be resized.
#include <cstdint>
#include <span>

#include "fuzz_check.h"
#include "input/image.h"
#include <rankfall/error.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Image image;
  try {
    image = decode_image(std::as_bytes(std::span(data, size)), "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    return 0;
  }
  FUZZ_CHECK(image.rgb.size() == static_cast<std::size_t>(image.width * image.height * 3));
  if (image.width * image.height > 1'000'000) return 0;
  for (const Resample resample : {Resample::kNearest, Resample::kBilinear, Resample::kBicubic}) {
    FUZZ_CHECK(resize(image, 5, 7, resample).rgb.size() == 105);
  }
  return 0;
}
