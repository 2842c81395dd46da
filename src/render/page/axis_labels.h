#pragma once

#include <string>
#include <utility>
#include <vector>

#include "render/page/chart.h"

// Ticks, the labels of ticks, and where labels stand.

namespace rankfall {

// Powers of ten down to a logarithm: 0, -1, -3, -10, -30 ...
std::vector<double> power_ticks(double lowest, double highest);

// Ticks of an axis of logarithms that spans less than two powers of ten, at round values (0.2, 0.3, 0.5, 1), and how
// many digits tell their labels apart. No ticks on longer axes: whole powers do there.
struct PowerTicks {
  std::vector<double> ticks;
  int digits = 3;
};
PowerTicks narrow_power_ticks(double lowest, double highest);

// Expressions of labels: of an axis of logarithms, the value itself, right at any tick (10⁻¹², 0.32 for -0.5,
// 3.2×10⁻¹³); of a logarithmic axis of values the same.
std::string power_label(int digits = 3);
std::string value_label();
// The label of any number on a linear axis: 0, 0.25, 1,000, 2×10⁻⁶.
std::string linear_label();

// Where a value stands on an axis of this height and domain, in pixels from the top. scale: linear or symlog.
double pixels_from_top(double value, std::pair<double, double> domain, const std::string& scale, int height);

// Moves labels apart that would overlap, each as little as needed; they stay inside the height where there is room.
void spread(std::vector<EndLabel>& labels, int height);

}  // namespace rankfall
