#pragma once

#include <filesystem>

#include <rankfall/model.h>

namespace rankfall {

// A model file of llama.cpp: the network that its metadata describes, and a view of the file as its weights, which are
// widened to single precision when a layer needs them. Throws Error (kInput).
Model open_gguf(const std::filesystem::path& file, bool ignore_unused = false);

}  // namespace rankfall
