#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input.h>

namespace rankfall {

// A piece of text as a tokenizer sees it: "##ing", "▁program", "Ġthe".
struct Piece {
  std::string text;
  std::int32_t id = 0;
};

// The files that a family's tokenizer is read from: "vocab.txt or tokenizer.json".
RANKFALL_API std::string tokenizer_files(std::string_view family);

// Text to token ids, as a model was trained with. Bytes that are not UTF-8 count as U+FFFD. Special tokens written out
// in the text ("[MASK]") are recognised. Thread-safe: read-only.
class RANKFALL_API Tokenizer {
 public:
  // The tokenizer beside a model: config.json names the family, and the files are vocab.txt (WordPiece), vocab.json and
  // merges.txt (byte-level BPE), spiece.model or tokenizer.model (SentencePiece), or, where these are absent,
  // tokenizer.json; gemma, mistral and phi3 prefer the latter. Throws Error(kInput) when they are missing or unsound,
  // or when `special` asks for a token that begins a text and the tokenizer has none.
  static std::shared_ptr<const Tokenizer> open(const std::filesystem::path& directory,
                                               SpecialTokens special = SpecialTokens::kAsStored);

  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Without the special tokens around.
  std::vector<Piece> pieces(std::string_view text) const;
  TokenIds ids(std::string_view text) const;

  // Special tokens that a single text gets in front and behind ([CLS] and [SEP]).
  const std::vector<Piece>& front() const;
  const std::vector<Piece>& back() const;
  // What decided on these: "post_processor of tokenizer.json" and the like.
  const std::string& special_rule() const;
  // The padding token; absent for models trained without one.
  std::optional<std::int32_t> padding() const;
  // "WordPiece, vocab.txt" and the like.
  const std::string& kind() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rankfall
