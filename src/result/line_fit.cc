#include "result/line_fit.h"

#include <cmath>

#include "base/dcheck.h"

namespace rankfall {

LineFit fit_line(std::span<const double> x, std::span<const double> y) {
  RANKFALL_DCHECK(x.size() == y.size());
  LineFit fit;
  fit.n = std::ssize(x);
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (x.size() < 2 || xx == 0) return fit;
  fit.slope = xy / xx;
  fit.intercept = mean_y - fit.slope * mean_x;
  double left = 0;  // two passes: yy - xy^2 / xx would cancel
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = y[i] - fit.intercept - fit.slope * x[i];
    left += off * off;
  }
  fit.r2 = yy > 0 ? 1 - left / yy : 0;
  if (x.size() > 2) fit.slope_error = std::sqrt(left / (n - 2) / xx);
  return fit;
}

}  // namespace rankfall
