#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rankfall {

// A SentencePiece model as the library can be trusted with it, or Error (kInput): a protobuf whose fields end where
// they should, pieces that are UTF-8 with finite scores, an unknown piece, and a table of character replacements whose
// every way stays inside it and within the library's arrays. Its self-test, which the library would print, is left out.
// `where` begins the messages.
std::string checked_sentencepiece(std::string_view bytes, std::string_view where);

inline constexpr std::size_t kMaxSentencePieceBytes = std::size_t{64} << 20;

}  // namespace rankfall
