#include "text/word_level.h"

#include <utility>

#include "base/errors.h"
#include "io/utf8.h"

namespace rankfall {

WordLevel::WordLevel(Vocabulary vocabulary, std::string unknown, std::string where)
    : vocabulary_(std::move(vocabulary)),
      unknown_(std::move(unknown)),
      unknown_id_(vocabulary_.find(unknown_)),
      where_(std::move(where)) {}

void WordLevel::encode_word(std::string_view word, Pieces& out) const {
  out.budget.work(8 + word.size());
  if (const auto id = vocabulary_.find(word)) {
    out.add(*id, word);
  } else if (unknown_id_) {
    out.add(*unknown_id_, unknown_);
  } else {
    throw input_error("{}: the word {} is not in the vocabulary, nor is the unknown token {}", where_, in_quotes(word),
                      in_quotes(unknown_));
  }
}

}  // namespace rankfall
