#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dcheck.h"
#include "base/parse_number.h"

namespace rankfall {

// data/published/fig2.csv: the curves of Figure 2, read off the published vector graphics.
extern const std::string_view kPublishedFig2;
// data/published/fig5.csv: proportions of path lengths in nine architectures.
extern const std::string_view kPublishedFig5;
// data/published/fig_boxplot_paths.csv: quartiles of chained attention along random paths, by length.
extern const std::string_view kPublishedBoxplot;

// The lines of an embedded table in CSV, after its header; fields may be quoted, without quotes inside.
std::vector<std::vector<std::string>> published_table(std::string_view csv);

template <class Number>
Number published_number(std::string_view text) {
  const auto value = parse_number<Number>(text);
  if (!value) throw Bug("embedded table: bad number");
  return *value;
}

}  // namespace rankfall
