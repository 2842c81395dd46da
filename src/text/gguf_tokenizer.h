#pragma once

#include "io/gguf.h"
#include "text/tokenizer_parts.h"

namespace rankfall {

// The tokenizer inside a GGUF file (`tokenizer.ggml.*`): SentencePiece's, byte-level BPE or WordPiece. Throws Error
// (kInput) if there is none, or one of a kind or with a rule of splitting that is not known.
TokenizerParts gguf_tokenizer(const GgufFile& file);
// The token that begins a text, whether it is put there or not.
std::optional<Piece> gguf_begin(const GgufFile& file);

}  // namespace rankfall
