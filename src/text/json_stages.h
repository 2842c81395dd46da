#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "network/config.h"
#include "text/regex.h"
#include "text/text_budget.h"

// The stages of a tokenizer.json before its model. Each is an object with a "type"; what is not supported is refused
// with Error (kInput), since skipping it would give other tokens.

namespace rankfall {

inline constexpr std::size_t kMaxStages = 64;  // of a kind, in all
// Of all patterns of a kind: character classes, each of which takes ICU up to 3 ms to compile.
inline constexpr std::size_t kMaxClasses = 256;
inline constexpr std::uint64_t kWorkPerStageByte = 8;  // of a stage without a pattern
inline constexpr std::size_t kHeldPerWord = 8;         // bytes of a text that a word or match counts as

// The `pattern` of a stage: {"String": ...} or {"Regex": ...}. Adds its character classes to n_classes.
std::shared_ptr<const Regex> pattern_of(const Config& node, std::size_t& n_classes);

// Normalizers: text to text.
struct Normalization {
  std::vector<std::function<std::string(std::string, TextBudget&)>> steps;
  bool for_sentencepiece = false;  // SentencePiece's library applies its own table of replacements:
  std::string replacements;        // this one
  std::size_t n_classes = 0;       // of the patterns so far

  std::string operator()(std::string text, TextBudget& budget) const;
};
void add_normalizer(const Config& node, Normalization& out);

// Pre-tokenizers: text to words, none of them empty.
struct Word {
  std::string text;
  bool at_start = false;  // it begins where the whole text begins
};
using Words = std::vector<Word>;
struct PreTokenization {
  std::vector<std::function<void(const Word& word, TextBudget& budget, Words& out)>> steps;
  bool byte_level = false;         // words are raw bytes, each of which stands for a character of GPT-2's alphabet
  std::vector<std::string> types;  // of the stages, in order
  std::size_t n_classes = 0;       // of the patterns so far

  Words operator()(std::string text, bool at_start, TextBudget& budget) const;
  // Writes the bytes out in GPT-2's alphabet, for what does not work on bytes.
  void spell_bytes();
};
void add_pre_tokenizer(const Config& node, PreTokenization& out);

}  // namespace rankfall
