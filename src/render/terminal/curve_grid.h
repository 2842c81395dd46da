#pragma once

#include <string>
#include <vector>

#include "view/view.h"

namespace rankfall {

// Curves as a terminal shows them: x from small to large, by series.
struct CurveGrid {
  std::vector<double> xs;
  std::vector<std::string> names;                // of series that have a point
  std::vector<std::vector<const Point*>> cells;  // [series][x]; may be null
};

// Of the first source that has points, where there are several, and without references. Series are in the figure's
// order, then in that of their first use.
CurveGrid grid_of(const Curves& curves, const std::vector<Series>& series);

// The curves in characters. Values that span decades have a logarithmic axis; logarithms that go deep one that is
// logarithmic in the exponent, so that doubly exponential decay is a straight line. Ends with a newline.
std::string plot_of(const Curves& curves, const CurveGrid& grid, const struct Screen& screen);

}  // namespace rankfall
