#pragma once

#include <string>
#include <vector>

#include <rankfall/sample.h>

namespace rankfall {

// The first `n_samples` lines of a text as token ids, cut or padded to n_tokens. SentencePiece and libtorch cannot live
// in one process (each brings a protobuf of its own), so `rankfall tokens` is run for it, found beside this
// program. Throws Error(kInput) with what that program said.
std::vector<Sample> text_ids(const std::string& text, const std::string& tokenizer, Index n_samples, Index n_tokens);

}  // namespace rankfall
