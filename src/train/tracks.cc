#include "train/tracks.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rankfall {

Fall fall_of(const std::vector<double>& distances) {
  Fall fall;
  for (std::size_t t = 0; t < distances.size(); ++t) {
    const double left = distances[t] / distances[0];
    if (left >= 0.9) fall = {};  // it went up again
    if (left < 0.9 && !fall.begins) fall.begins = static_cast<Index>(t);
    if (left < 0.01 && !fall.ends) fall.ends = static_cast<Index>(t);
  }
  if (fall.ends && fall.begins) {
    const auto n = static_cast<double>(*fall.ends - *fall.begins + 1);
    const double low = std::max(distances[static_cast<std::size_t>(*fall.ends)], 1e-16 * distances[0]);
    fall.rate = std::pow(low / distances[static_cast<std::size_t>(*fall.begins - 1)], 1 / n);
  }
  return fall;
}

double turns_of(const std::vector<Matrix<double>>& states) {
  double angle = 0;
  for (std::size_t t = 1; t < states.size(); ++t) {
    const auto a = states[t - 1].row(0);
    const auto b = states[t].row(0);
    angle += std::atan2(a(0) * b(1) - a(1) * b(0), a(0) * b(0) + a(1) * b(1));
  }
  return angle / (2 * std::numbers::pi);
}

}  // namespace rankfall
