#pragma once

#include <memory>
#include <string_view>

#include "text/piece_model.h"

namespace rankfall {

// What is done to a text before the library sees it, and to its pieces after.
struct SentencePieceRules {
  bool collapse_spaces = false;  // as Python's " ".join(text.strip().split())
  bool straight_quotes = false;  // `` and '' become "
  bool strip_accents = false;    // compatibility decomposition without combining marks
  bool lower = false;
  bool split_digit_commas = false;  // a piece such as "9," becomes the pieces of "9", and ","
};

// A model of the SentencePiece library. The bytes are checked before the library reads them. Throws Error (kInput).
std::unique_ptr<PieceModel> open_sentencepiece(std::string_view bytes, std::string_view where,
                                               const SentencePieceRules& rules);

// The pieces of a vocabulary with scores, and replacements in SentencePiece's own form, as a model of the library: what
// a tokenizer.json of type Unigram or a GGUF file holds.
struct UnigramVocabulary {
  bool joins_pairs = false;  // byte-pair encoding: neighbours are joined, those of the highest score first
  std::vector<std::pair<std::string, double>> pieces;  // with scores, numbered in order
  std::size_t unknown = 0;
  std::vector<std::int32_t> special;  // numbers of pieces that text never becomes
  std::string replacements;           // empty: none
  bool byte_fallback = false;
  bool add_prefix = true;     // a space in front
  bool remove_spaces = true;  // several spaces become one
};
std::string sentencepiece_bytes(const UnigramVocabulary& vocabulary);

}  // namespace rankfall
