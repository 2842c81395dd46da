#pragma once

#include <string_view>

namespace rankfall {

// data/published/fig2.csv: the curves of Figure 2, read off the published vector graphics.
extern const std::string_view kPublishedFig2;

}  // namespace rankfall
