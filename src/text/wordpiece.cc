#include "text/wordpiece.h"

#include <algorithm>
#include <utility>

#include "base/dcheck.h"

namespace rankfall {
namespace {

bool continues_code(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

WordPiece::WordPiece(Vocabulary vocabulary, std::string unknown, std::string continuing, std::size_t max_characters)
    : vocabulary_(std::move(vocabulary)),
      unknown_(std::move(unknown)),
      unknown_id_(vocabulary_.find(unknown_).value_or(0)),
      continuing_(std::move(continuing)),
      max_characters_(max_characters) {
  RANKFALL_DCHECK(vocabulary_.find(unknown_).has_value());
}

void WordPiece::encode_word(std::string_view word, Pieces& out) const {
  out.budget.work(8 + word.size());
  if (word.size() <= max_characters_) {
    if (const auto id = vocabulary_.find(word)) {  // most words
      out.add(*id, word);
      return;
    }
  }
  const auto n_characters =
      static_cast<std::size_t>(std::count_if(word.begin(), word.end(), [](char c) { return !continues_code(c); }));
  const std::size_t n_before = out.ids.size();
  const auto give_up = [&] {
    out.ids.resize(n_before);
    if (out.with_texts) out.texts.resize(n_before);
    out.add(unknown_id_, unknown_);
  };
  if (n_characters > max_characters_) return give_up();
  std::string piece;
  for (std::size_t first = 0; first < word.size();) {
    const std::string_view mark = first == 0 ? std::string_view() : continuing_;
    piece.assign(mark);
    piece += word.substr(first, vocabulary_.longest());
    std::size_t work = 0;
    while (piece.size() > mark.size()) {
      work += 4 + piece.size() / 4;
      if (const auto id = vocabulary_.find(piece)) {
        out.add(*id, piece);
        break;
      }
      while (continues_code(piece.back())) piece.pop_back();
      piece.pop_back();
    }
    out.budget.work(work);
    if (piece.size() <= mark.size()) return give_up();
    first += piece.size() - mark.size();
  }
}

}  // namespace rankfall
