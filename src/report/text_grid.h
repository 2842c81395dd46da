#pragma once

#include <string>
#include <vector>

#include "report/table_text.h"

namespace rankfall {

// Lines of texts under headings: tables of many numbers, without bars. What does not fit beside each other goes below,
// with the first columns again.
class TextGrid {
 public:
  struct Column {
    std::string group;  // said once above the columns that have it
    std::string name;
    bool with_next = false;  // stays beside the one after it
    bool left = false;
    bool dim = false;
  };

  // The first `n_labels` columns say what a line is.
  TextGrid(std::size_t n_labels, std::vector<Column> columns);

  // Texts of our own, or harmless ones.
  void line(std::vector<std::string> cells);

  void write(TableText& out) const;

 private:
  void piece(TableText& out, std::size_t first, std::size_t last) const;
  std::string groups(const std::vector<std::size_t>& shown, const TableOptions& options) const;

  std::size_t n_labels_;
  std::vector<Column> columns_;
  std::vector<int> widths_;
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace rankfall
