#pragma once

#include <string>

#include <rankfall/sample.h>

namespace rankfall {

// A PNG or JPEG file, by its first bytes. Throws Error (kInput) when it cannot be read.
bool is_image(const std::string& path);

// Samples from PNG and JPEG files, resized, cropped, scaled and normalised as preprocessor_config.json says; without
// one as ViT does: to the model's size, bilinear, (x / 255 - 0.5) / 0.5.
Inputs image_inputs(const Network& network, const InputOptions& options);

}  // namespace rankfall
