#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_limits.h"
#include <rankfall/sample.h>

namespace rankfall {

// The samples of a text one after the other: lines, blocks between blank lines, or an entry of JSON lines. Blank ones
// are passed over.
class TextSource {
 public:
  // Opens InputOptions::text, or goes through InputOptions::texts. Throws Error (kInput) when it cannot be read, is
  // empty, or is not UTF-8 but UTF-16.
  explicit TextSource(const InputOptions& options);

  struct Item {
    std::string text;
    std::size_t line = 0;  // its first, from 1
  };
  std::optional<Item> next();

  const std::string& where() const { return where_; }
  std::size_t n_items() const { return n_items_; }  // so far

 private:
  std::string_view next_line();
  std::string field_of(std::string_view line) const;

  std::string where_;
  bool paragraphs_;
  std::string field_;
  std::shared_ptr<const void> keep_;
  std::string_view rest_;
  std::vector<std::string> texts_;  // instead of a file
  std::size_t line_ = 0;            // number of the line that was read last
  std::size_t n_items_ = 0;
};

// At most n bytes: cut at white space if there is some near the end, otherwise between two characters.
std::string_view shortened(std::string_view text, std::size_t n);

}  // namespace rankfall
