#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "text/text_budget.h"

namespace rankfall {

// A regular expression with Unicode classes, by ICU. Patterns come from files: matching spends the text's budget, and
// ends in Error (kInput) when it is used up or goes too deep. Thread-safe.
class Regex {
 public:
  // `where` begins the messages. Throws Error (kInput) when it is not a pattern.
  Regex(std::string_view pattern, std::string_view where);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // [first, end) of the matches that do not overlap, from the left; empty ones left out.
  std::vector<std::pair<std::size_t, std::size_t>> find_all(std::string_view text, TextBudget& budget) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rankfall
