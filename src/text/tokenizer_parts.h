#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_model.h"
#include <rankfall/tokenizer.h>

namespace rankfall {

// Pieces that are recognised in text as they stand.
class SpecialPieces {
 public:
  struct Entry {
    Piece piece;
    bool strip_left = false, strip_right = false;  // white space before it, behind it goes
  };
  // The first of equal texts counts; an empty text is left out.
  void add(Entry entry);
  // The longest one that begins at `at`; null if none does.
  const Entry* find(std::string_view text, std::size_t at) const;
  // The next place where one may begin, from `at` on; npos if there is none.
  std::size_t next(std::string_view text, std::size_t at) const;
  std::optional<std::int32_t> id_of(const std::string& text) const;

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  std::array<std::set<std::size_t, std::greater<>>, 256> lengths_;  // by first byte, the longest first
};

// What a tokenizer is made of, whichever files it came from.
struct TokenizerParts {
  std::string kind;
  std::unique_ptr<PieceModel> model;
  std::vector<Piece> front, back;
  std::optional<std::int32_t> padding;
  SpecialPieces special;  // recognised in text
};

// tokenizer.json, the fast tokenizers' file. Throws Error (kInput), also for parts it does not know.
TokenizerParts read_tokenizer_json(const std::filesystem::path& path);
// The same on its text; `where` begins the messages.
TokenizerParts parse_tokenizer_json(std::string_view text, const std::string& where);

// Appends the pieces of a text in UTF-8, special ones recognised.
void encode_text(const TokenizerParts& parts, std::string_view text, Pieces& out);

}  // namespace rankfall
