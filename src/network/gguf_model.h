#pragma once

#include <filesystem>
#include <memory>

#include "io/gguf.h"
#include <rankfall/model.h>

namespace rankfall {

// A model file of llama.cpp: the network that its metadata describes, and a view of the file as its weights, which are
// widened to single precision when a layer needs them. Throws Error (kInput).
Model open_gguf(const std::filesystem::path& path, bool ignore_unused = false);
// The same of a file that is open, or of bytes.
Model gguf_model(std::shared_ptr<const GgufFile> file, bool ignore_unused = false);

}  // namespace rankfall
