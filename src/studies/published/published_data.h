#pragma once

#include <string_view>

namespace rankfall {

// data/published/fig2.csv: the curves of Figure 2, read off the published vector graphics.
extern const std::string_view kPublishedFig2;
// data/published/fig5.csv: proportions of path lengths in nine architectures.
extern const std::string_view kPublishedFig5;
// data/published/fig_boxplot_paths.csv: quartiles of chained attention along random paths, by length.
extern const std::string_view kPublishedBoxplot;

}  // namespace rankfall
