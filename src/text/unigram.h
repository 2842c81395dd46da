#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/piece_model.h"
#include "text/vocabulary.h"

namespace rankfall {

// The unigram model of a tokenizer.json: of all ways to write a word as pieces, the one with the largest sum of scores.
// What a SentencePiece model does, too, but for one word at a time and with any stages before it.
class Unigram {
 public:
  struct Options {
    std::optional<std::int32_t> unknown;  // of characters that are no piece; absent: Error (kInput) once needed
    bool byte_fallback = false;           // they become pieces <0xNN> instead, if all of these exist
  };
  // Pieces with scores, numbered in order; of equal ones the last counts.
  Unigram(const std::vector<std::pair<std::string, double>>& pieces, Options options, std::string where);

  void encode_word(std::string_view word, Pieces& out) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  // The best way to write the bytes up to here.
  struct Node {
    double score = 0;
    std::uint32_t first = 0;  // of its last piece
    std::int32_t id = 0;
    bool reached = false;
  };
  struct Entry {
    std::string text;
    std::int32_t id;
  };
  void extend(std::string_view word, std::size_t first, std::vector<Node>& nodes, TextBudget& budget) const;
  void add_unknown(std::string_view text, Pieces& out) const;

  Vocabulary vocabulary_;
  std::vector<Entry> sorted_;   // by text: pieces that begin alike are neighbours
  std::vector<double> scores_;  // by number
  double unknown_score_;
  Options options_;
  std::string where_;
};

}  // namespace rankfall
