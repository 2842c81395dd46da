#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "network/config.h"
#include "text/text_budget.h"

// The stages of a tokenizer.json before its model. Each is an object with a "type"; what is not supported is refused
// with Error (kInput), since skipping it would give other tokens.

namespace rankfall {

inline constexpr std::size_t kMaxStages = 64;  // of a kind, in all
// Of all patterns of a kind: character classes, each of which takes ICU up to 3 ms to compile.
inline constexpr std::size_t kMaxClasses = 256;

// Normalizers: text to text.
struct Normalization {
  std::vector<std::function<std::string(std::string, TextBudget&)>> steps;
  std::string replacements;   // SentencePiece's own table, which its library applies
  std::size_t n_classes = 0;  // of the patterns so far

  std::string operator()(std::string text, TextBudget& budget) const;
};
void add_normalizer(const Config& node, Normalization& out);

// Pre-tokenizers: text to words. `first`: the text begins where everything begins, not behind a special token.
using Words = std::vector<std::string>;
struct PreTokenization {
  std::vector<std::function<void(std::string_view text, bool first, TextBudget& budget, Words& out)>> steps;
  bool byte_level = false;         // words are bytes in GPT-2's alphabet from here on
  std::vector<std::string> types;  // of the stages, in order
  std::size_t n_classes = 0;       // of the patterns so far

  Words operator()(std::string text, bool first, TextBudget& budget) const;
};
void add_pre_tokenizer(const Config& node, PreTokenization& out);

}  // namespace rankfall
