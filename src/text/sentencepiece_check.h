#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "io/file_limits.h"
#include "text/replacement_table.h"

namespace rankfall {

// A SentencePiece model as the library can be trusted with it.
struct CheckedSentencePiece {
  std::string bytes;              // for the library
  std::size_t n_pieces = 0;       // of the file
  std::size_t longest_piece = 0;  // bytes
  ReplacementTable replacements;  // of characters; empty if there are none
  // The library joins neighbouring unknown characters in time that grows with the square of their number, so it is told
  // to write them as bytes: `bytes` has 256 more pieces for that, from n_pieces on, which whoever uses it joins again.
  // False where the model does so itself, or has pieces of such names.
  bool unknown_as_bytes = false;
};

// Throws Error (kInput) unless the file is a protobuf whose fields end where they should, with pieces that are UTF-8
// and have finite scores and do not collide, an unknown piece, and a table of character replacements whose every way
// stays inside it and within the library's arrays. Its self-test, which the library would print, is left out. `where`
// begins the messages.
CheckedSentencePiece checked_sentencepiece(std::string_view bytes, std::string_view where);

}  // namespace rankfall
