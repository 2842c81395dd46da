#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/text_budget.h"

namespace rankfall {

// What a text became. Texts of pieces only where somebody looks at them.
struct Pieces {
  std::vector<std::int32_t> ids;
  std::vector<std::string> texts;
  bool with_texts = false;
  bool at_start = true;  // what is tokenised next begins where the whole text begins
  TextBudget budget;     // of which tokenising the text spends

  void add(std::int32_t id, std::string_view text) {
    ids.push_back(id);
    if (!with_texts) return;
    budget.hold(text_bytes_ += text.size());
    texts.emplace_back(text);
  }

 private:
  std::size_t text_bytes_ = 0;
};

// Cuts text into pieces of a vocabulary. Thread-safe: read-only.
class PieceModel {
 public:
  virtual ~PieceModel() = default;

  // Appends the pieces of `text`, well-formed UTF-8 without special tokens.
  virtual void encode(std::string_view text, Pieces& out) const = 0;
  // The number of a piece of the vocabulary, special ones included.
  virtual std::optional<std::int32_t> find(std::string_view piece) const = 0;
  virtual std::size_t size() const = 0;  // of the vocabulary
};

}  // namespace rankfall
