#pragma once

#include <utility>
#include <vector>

#include "render/page/chart.h"

// Names that are drawn inside a chart of curves: of what an arithmetic does not resolve, and of the curves themselves.

namespace rankfall {

// The parts of an axis of logarithms that lie below the rounding of float32 and of float64.
std::vector<ChartFloor> floors_of(std::pair<double, double> domain);

// Whether a curve passes where the name of a floor would stand: in the right third, below the floor's upper edge.
bool crosses_name(const Curves& chart, const ChartFloor& floor, const LineChart& lines);

// The name of each series where its curve ends.
std::vector<EndLabel> end_labels(const Curves& chart, const std::vector<DrawnSeries>& series, const LineChart& lines);

// The name of each series at its highest point, where it does not cover another name. Laid out for a page 1,000 pixels
// wide.
std::vector<PointLabel> peak_labels(const Curves& chart, const std::vector<DrawnSeries>& series,
                                    const LineChart& lines);

}  // namespace rankfall
