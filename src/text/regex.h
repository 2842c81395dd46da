#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/text_budget.h"

namespace rankfall {

// A pattern of a tokenizer.json as ICU writes it. These files have the syntax of Oniguruma (that of Ruby), where \h is
// a hexadecimal digit, \v one character, (?m) lets . match line ends, and \w and [:punct:] are larger sets. Throws
// Error (kInput) for what cannot be translated.
std::string from_oniguruma(std::string_view pattern, std::string_view where);

// A regular expression with Unicode classes, by ICU. ^ and $ match at every line, and only \n ends a line, as in
// Oniguruma. Patterns come from files: matching spends the text's budget, and
// ends in Error (kInput) when it is used up or goes too deep. Thread-safe.
class Regex {
 public:
  // `where` begins the messages. Throws Error (kInput) when it is not a pattern.
  Regex(std::string_view pattern, std::string_view where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // [first, end) of the matches that do not overlap, from the left. Empty ones count, but not directly behind another.
  std::vector<std::pair<std::size_t, std::size_t>> find_all(std::string_view text, TextBudget& budget) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rankfall
