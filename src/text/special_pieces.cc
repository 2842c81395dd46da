#include "text/special_pieces.h"

#include <algorithm>
#include <utility>

namespace rankfall {
namespace {

std::string_view text_of(const SpecialPiece& piece) { return piece.piece.text; }
unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

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

}  // namespace rankfall
