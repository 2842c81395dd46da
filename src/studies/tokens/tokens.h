#pragma once

#include <filesystem>

#include <rankfall/export.h>
#include <rankfall/input.h>
#include <rankfall/result.h>

namespace rankfall {

// The pieces and ids of a text, so that people can check what a model will see. `directory` needs config.json and the
// tokenizer's files, no weights. Of the options text, paragraphs, field, n_samples (unset: 32) and n_tokens (unset:
// whole samples) count. One row a token: sample, position (`k`), metric "token", id (`mean`), piece (`path`), and kind
// "special" for those that the text gets around it.
RANKFALL_API Result tokens(const std::filesystem::path& directory, const InputOptions& options);

}  // namespace rankfall
