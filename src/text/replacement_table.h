#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankfall {

// SentencePiece's table of character replacements: a 32-bit size, a double array of that many bytes (Darts-clone), and
// texts each ended by NUL. The library follows its links without looking, into arrays of 32 results: all ways are
// walked here first.
class ReplacementTable {
 public:
  using Fail = std::function<void(const std::string& problem)>;  // throws

  ReplacementTable() = default;
  ReplacementTable(std::string_view table, const Fail& fail);

  // How many bytes the library's normalizer makes of a text at most: at every place the longest entry is replaced, or
  // one character stays; a space becomes three bytes.
  std::size_t grown(std::string_view text) const;

  // The text as the stage 'Precompiled' of a tokenizer.json makes it. Unlike the library, it takes each grapheme of
  // fewer than six bytes as a whole, or else each character, and replaces it by the text of the shortest entry it
  // begins with.
  std::string replaced(std::string_view text) const;

 private:
  int visit(std::uint32_t base, int depth, const Fail& fail);
  void check_leaf(std::uint32_t at, const Fail& fail) const;
  std::string_view text_at(std::uint32_t leaf) const;
  std::optional<std::string_view> shortest(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
  std::vector<std::int8_t> leaves_below_;  // while it is checked
};

}  // namespace rankfall
