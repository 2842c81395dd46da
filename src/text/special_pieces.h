#pragma once

#include <bitset>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "text/text_budget.h"
#include <rankfall/tokenizer.h>

namespace rankfall {

// A piece that is recognised in text as it stands.
struct SpecialPiece {
  Piece piece;
  bool strip_left = false, strip_right = false;  // white space before it, behind it goes
  bool single_word = false;                      // only where no letter or digit touches it
};

// All of a tokenizer's, in order of their bytes: a trie without nodes. Looking for one narrows a range of them byte by
// byte, so the cost does not grow with their number, but for its logarithm.
class SpecialPieces {
 public:
  SpecialPieces() = default;
  // Of equal texts the first counts; empty ones are skipped.
  explicit SpecialPieces(std::vector<SpecialPiece> pieces);

  // The longest one that begins at `at`; null if none does.
  const SpecialPiece* find(std::string_view text, std::size_t at, TextBudget& budget) const;
  // The next place where one may begin, from `at` on; npos if there is none.
  std::size_t next(std::string_view text, std::size_t at) const;
  std::optional<std::int32_t> id_of(std::string_view text) const;

  // Cuts a text at special pieces; at one place the longest counts. Calls plain(text, where it begins) for what is not
  // empty between them and special(piece) for each of them, in order. `is_space` is what they strip.
  void cut(std::string_view text, bool (*is_space)(char32_t), TextBudget& budget,
           const std::function<void(std::string_view, std::size_t)>& plain,
           const std::function<void(const SpecialPiece&)>& special) const;

 private:
  std::vector<SpecialPiece> sorted_;
  std::bitset<256> first_bytes_;
};

}  // namespace rankfall
