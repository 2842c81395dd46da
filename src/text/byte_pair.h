#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "text/piece_model.h"
#include "text/vocabulary.h"

namespace rankfall {

// Byte-pair encoding: a word begins as single symbols; of all neighbours that a rule may merge, the pair with the first
// rule is merged, the leftmost first, until no rule applies.
class BytePair {
 public:
  struct Options {
    bool byte_fallback = false;           // unknown characters become pieces <0xNN>
    bool ignore_merges = false;           // a word that is in the vocabulary is one piece
    std::optional<std::int32_t> unknown;  // of symbols that are not in the vocabulary; absent: they are dropped
    bool bytes_as_characters = false;     // symbols are bytes, each written as one character (GPT-2's alphabet)
    bool fuse_unknown = false;            // neighbouring unknown symbols of a word become one piece
    std::string continuing;               // written before every symbol of a word but the first
    std::string ending;                   // written behind the last symbol of a word
    std::string missing_unknown;  // not empty: the unknown token that the vocabulary lacks; an error once needed
  };
  struct Merge {
    std::string left, right;
  };
  // `where` names the rules in the Error (kInput) for one whose parts or result are not in the vocabulary.
  BytePair(Vocabulary vocabulary, const std::vector<Merge>& merges, Options options, std::string_view where);

  void encode_word(std::string_view word, Pieces& out) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Rule {
    std::uint32_t rank;
    std::int32_t result;
  };
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  }
  std::vector<std::int32_t> symbols_of(std::string_view word) const;
  void merge(std::vector<std::int32_t>& symbols) const;

  Vocabulary vocabulary_;
  Options options_;
  std::string where_;
  std::unordered_map<std::uint64_t, Rule, KeyedHash> rules_;
  std::array<std::optional<std::int32_t>, 256> byte_ids_;
};

// GPT-2's alphabet: every byte as a printable character, as two bytes of UTF-8 at most.
std::string byte_character(unsigned char byte);
std::string bytes_as_characters(std::string_view text);

// The pieces of GPT-2's pattern 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ : calls
// f(word) for each, in order; together they are the text.
void split_gpt2(std::string_view text, const std::function<void(std::string_view)>& f);

}  // namespace rankfall
