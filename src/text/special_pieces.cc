#include "text/special_pieces.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace rankfall {
namespace {

std::string_view text_of(const SpecialPiece& piece) { return piece.piece.text; }
unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// Where the code point before `at` begins; at > 0.
std::size_t before(std::string_view text, std::size_t at) {
  do --at;
  while (at > 0 && (byte_at(text, at) & 0xC0U) == 0x80);
  return at;
}

char32_t code_at(std::string_view text, std::size_t at) { return utf8_decode(text.substr(at)).code; }

// Where the spaces before `at` begin, but not before `least`.
std::size_t spaces_before(std::string_view text, std::size_t at, std::size_t least, bool (*is_space)(char32_t)) {
  while (at > least && is_space(code_at(text, before(text, at)))) at = before(text, at);
  return at;
}

std::size_t spaces_behind(std::string_view text, std::size_t at, bool (*is_space)(char32_t)) {
  while (at < text.size() && is_space(code_at(text, at))) at += utf8_decode(text.substr(at)).length;
  return at;
}

}  // namespace

SpecialPieces::SpecialPieces(std::vector<SpecialPiece> pieces) : sorted_(std::move(pieces)) {
  std::erase_if(sorted_, [](const SpecialPiece& piece) { return text_of(piece).empty(); });
  std::ranges::stable_sort(sorted_, {}, text_of);
  const auto same_text = [](const SpecialPiece& a, const SpecialPiece& b) { return text_of(a) == text_of(b); };
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), same_text), sorted_.end());
  for (const SpecialPiece& piece : sorted_) first_bytes_.set(byte_at(text_of(piece), 0));
}

const SpecialPiece* SpecialPieces::find(std::string_view text, std::size_t at, TextBudget& budget) const {
  const SpecialPiece* longest = nullptr;
  auto first = sorted_.begin();
  auto end = sorted_.end();
  // All of [first, end) begin with text[at, at + n); one that is no longer than that comes first.
  for (std::size_t n = 0; first != end; ++n) {
    budget.work(4);
    if (text_of(*first).size() == n) {
      longest = &*first;
      ++first;
    }
    if (at + n == text.size() || first == end) break;
    const unsigned char byte = byte_at(text, at + n);
    const auto at_n = [n](const SpecialPiece& piece) { return byte_at(text_of(piece), n); };
    // Where one piece remains, or all agree, there is nothing to search.
    if (at_n(*first) == byte && at_n(*(end - 1)) == byte) continue;
    first = std::ranges::lower_bound(first, end, byte, {}, at_n);
    end = std::ranges::upper_bound(first, end, byte, {}, at_n);
  }
  return longest;
}

std::size_t SpecialPieces::next(std::string_view text, std::size_t at) const {
  while (at < text.size() && !first_bytes_[byte_at(text, at)]) ++at;
  return at < text.size() ? at : text.npos;
}

std::optional<std::int32_t> SpecialPieces::id_of(std::string_view text) const {
  const auto found = std::ranges::lower_bound(sorted_, text, {}, text_of);
  return found != sorted_.end() && text_of(*found) == text ? std::optional(found->piece.id) : std::nullopt;
}

void SpecialPieces::cut(std::string_view text, bool (*is_space)(char32_t), TextBudget& budget,
                        const std::function<void(std::string_view, std::size_t)>& plain,
                        const std::function<void(const SpecialPiece&)>& special) const {
  std::size_t first = 0;  // of the plain text before the next special piece
  for (std::size_t at = next(text, 0); at != text.npos;) {
    const SpecialPiece* found = find(text, at, budget);
    if (!found) {
      at = next(text, at + 1);
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + found->piece.text.size();
    at = next(text, end);
    if (found->single_word && ((begin > 0 && is_word_character(code_at(text, before(text, begin)))) ||
                               (end < text.size() && is_word_character(code_at(text, end))))) {
      continue;
    }
    if (found->strip_left) begin = spaces_before(text, begin, std::min(first, begin), is_space);
    if (found->strip_right) end = spaces_behind(text, end, is_space);
    budget.work(4 + (end - begin));
    if (begin > first) plain(text.substr(first, begin - first), first);
    special(*found);
    first = end;
  }
  if (first < text.size()) plain(text.substr(first), first);
}

}  // namespace rankfall
