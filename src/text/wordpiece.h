#pragma once

#include <cstddef>
#include <string>

#include "text/piece_model.h"
#include "text/vocabulary.h"

namespace rankfall {

// Greedy: the longest piece of the vocabulary that the word begins with, then of the rest, which has a mark in front. A
// word that cannot be cut this way, or is too long, becomes one unknown piece.
class WordPiece {
 public:
  // Requires `unknown` to be in the vocabulary.
  WordPiece(Vocabulary vocabulary, std::string unknown, std::string continuing = "##",
            std::size_t max_characters = 100);

  void encode_word(std::string_view word, Pieces& out) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::string unknown_;
  std::int32_t unknown_id_;
  std::string continuing_;
  std::size_t max_characters_;
};

}  // namespace rankfall
