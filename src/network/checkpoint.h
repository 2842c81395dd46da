#pragma once

#include <filesystem>

#include <rankfall/model.h>

namespace rankfall {

// A directory with config.json and its weights in safetensors: the network, and a view of the files as its weights. All
// names, shapes and types are checked here; the weights themselves are read when a layer needs them. Throws Error
// (kInput).
Model open_checkpoint(const std::filesystem::path& directory, bool ignore_unused = false);

}  // namespace rankfall
