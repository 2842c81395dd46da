#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/piece_model.h"
#include "text/vocabulary.h"

namespace rankfall {

// Whole words: each is a piece of the vocabulary, or unknown.
class WordLevel {
 public:
  // `where` begins the Error (kInput) for a word that is not in a vocabulary without `unknown`.
  WordLevel(Vocabulary vocabulary, std::string unknown, std::string where);

  void encode_word(std::string_view word, Pieces& out) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::string unknown_;
  std::optional<std::int32_t> unknown_id_;
  std::string where_;
};

}  // namespace rankfall
