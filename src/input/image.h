#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "io/file_limits.h"
#include <rankfall/index.h>

namespace rankfall {

// 8-bit RGB, row by row.
struct Image {
  Index width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

// By its first bytes.
bool looks_like_png(std::span<const std::byte> bytes);
bool looks_like_jpeg(std::span<const std::byte> bytes);

// A PNG or JPEG file. Greys and palettes become RGB, transparency is dropped, 16 bits are cut to 8; embedded colour
// profiles, gamma and EXIF orientation are not applied: what Pillow's convert("RGB") gives, except for 16-bit greys.
// `where` begins the messages of Error (kInput): damaged files, and images beyond the limits, which are checked before
// memory is taken.
Image decode_image(std::span<const std::byte> bytes, std::string_view where);

// As Pillow resizes: a filter of the output's pixel size when shrinking, columns first, then rows, each rounded to 8
// bits. Throws Error (kInput), before anything is done, if that needs an image beyond the limits.
enum class Resample { kNearest, kBilinear, kBicubic };
Image resize(const Image& image, Index width, Index height, Resample resample);

}  // namespace rankfall
