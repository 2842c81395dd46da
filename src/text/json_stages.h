#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"

// The stages of a tokenizer.json before its model. Each is an object with a "type"; what is not known is refused with
// Error (kInput), since leaving it out would give other tokens.

namespace rankfall {

inline constexpr std::size_t kMaxStages = 64;  // of a kind, in all

// Normalizers: text to text.
struct Normalization {
  std::vector<std::function<std::string(std::string)>> steps;
  std::string replacements;  // SentencePiece's own table, which its library applies

  std::string operator()(std::string text) const;
};
void add_normalizer(const Config& node, Normalization& out);

// Pre-tokenizers: text to words. `first`: the text begins where everything begins, not behind a special token.
using Words = std::vector<std::string>;
struct PreTokenization {
  std::vector<std::function<void(std::string_view text, bool first, Words& out)>> steps;
  bool byte_level = false;         // words are bytes in GPT-2's alphabet from here on
  std::vector<std::string> types;  // of the stages, in order

  Words operator()(std::string text, bool first) const;
};
void add_pre_tokenizer(const Config& node, PreTokenization& out);

}  // namespace rankfall
