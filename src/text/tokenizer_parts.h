#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_model.h"
#include "text/special_pieces.h"
#include "text/unicode.h"
#include <rankfall/tokenizer.h>

namespace rankfall {

inline constexpr std::string_view kPostProcessorRule = "post_processor of tokenizer.json";

// What a tokenizer is made of, whichever files it came from.
struct TokenizerParts {
  std::string kind;
  std::unique_ptr<PieceModel> model;
  std::vector<Piece> front, back;
  std::optional<std::int32_t> padding;
  SpecialPieces special;                       // recognised in text
  bool (*strips)(char32_t) = is_python_space;  // the white space that special pieces strip
  std::string rule;                            // what decided on the special tokens around a text; empty: nothing did

  // The number of a piece, special or not.
  std::optional<std::int32_t> find(std::string_view piece) const;
};

// tokenizer.json, the fast tokenizers' file. Throws Error (kInput), also for parts it does not know.
TokenizerParts read_tokenizer_json(const std::filesystem::path& path);
// The same on its text; `where` begins the messages.
TokenizerParts parse_tokenizer_json(std::string_view text, const std::string& where);

// Appends the pieces of a text in UTF-8, special ones recognised. The text gets a TextBudget of its own.
void encode_text(const TokenizerParts& parts, std::string_view text, Pieces& out);

}  // namespace rankfall
