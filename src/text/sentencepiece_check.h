#pragma once

#include <cstddef>
#include <string_view>

namespace rankfall {

// Throws Error (kInput) unless the bytes are a SentencePiece model that the library can be trusted with: a protobuf
// whose fields end where they should, pieces that are UTF-8 with finite scores, an unknown piece, and a table of
// character replacements whose every link stays inside it. `where` begins the messages.
void check_sentencepiece(std::string_view bytes, std::string_view where);

inline constexpr std::size_t kMaxSentencePieceBytes = std::size_t{64} << 20;

}  // namespace rankfall
