#include "studies/collapse/decay.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "result/line_fit.h"
#include "result/statistics.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

constexpr double kSmallestStep = 0.05;
constexpr double kCubic = 2;  // exponents above count as doubly exponential
constexpr double kGoodFit = 0.95;
constexpr Index kExponents = 3;                     // that must exceed kCubic
constexpr Index kPoints = 5;                        // of a line
constexpr double kLeastFall = 0.30102999566398120;  // log10 2
constexpr double kKept = 0.7;
constexpr double kCollapsed = -1;  // log10 of a tenth, as in measure
constexpr double kDeviations = 2;

double at(std::span<const double> curve, Index l) { return curve[static_cast<std::size_t>(l)]; }

Index finite_length(std::span<const double> curve) {
  const auto end = std::ranges::find_if_not(curve, [](double value) { return std::isfinite(value); });
  return end - curve.begin();
}

// Above kCubic while falling.
bool is_cubic(std::span<const double> curve, Index l) {
  const auto exponent = local_exponent(curve, l);
  return exponent && *exponent > kCubic && at(curve, l) < at(curve, l - 1);
}

// A line through the curve's values at layers first to last.
LineFit fit(std::span<const double> curve, Index first, Index last) {
  std::vector<double> layers, values;
  for (Index l = first; l <= last; ++l) {
    layers.push_back(static_cast<double>(l));
    values.push_back(at(curve, l));
  }
  return fit_line(layers, values);
}

}  // namespace

std::optional<double> local_exponent(std::span<const double> curve, Index l) {
  if (l < 2 || l >= finite_length(curve)) return std::nullopt;
  const double before = at(curve, l - 1) - at(curve, l - 2);
  if (std::abs(before) < kSmallestStep) return std::nullopt;
  return (at(curve, l) - at(curve, l - 1)) / before;
}

Decay decay_of(std::span<const double> curve, std::span<const std::vector<double>> samples) {
  const Index last = finite_length(curve) - 1;
  Decay decay;
  decay.last = last;
  if (last < 0) {
    decay.law = Status::kExactlyZero;
    return decay;
  }
  Index first = last + 1;
  while (first > 2 && is_cubic(curve, first - 1)) --first;
  if (last + 1 - first >= kExponents && at(curve, first - 1) - at(curve, last) >= kLeastFall) {
    decay.law = Status::kDoublyExponential;
    decay.first = first;
    decay.low = decay.high = *local_exponent(curve, last);
    for (Index l = first; l <= last; ++l) {
      decay.low = std::min(decay.low, *local_exponent(curve, l));
      decay.high = std::max(decay.high, *local_exponent(curve, l));
    }
    return decay;
  }
  if (last + 1 < kPoints) return decay;
  decay.first = std::min((last + 1) / 2, last + 1 - kPoints);
  const LineFit line = fit(curve, decay.first, last);
  decay.slope = line.slope;
  decay.r2 = line.r2;
  Statistics slopes;
  for (const std::vector<double>& sample : samples) {
    if (finite_length(sample) > last) slopes.add(fit(sample, decay.first, last).slope);
  }
  decay.slope_std = slopes.std().value_or(0);
  const bool falls = at(curve, decay.first) - at(curve, last) >= kLeastFall;
  if (falls && line.r2 > kGoodFit && line.slope + kDeviations * decay.slope_std < 0) {
    decay.law = Status::kExponential;
  } else {
    decay.law = at(curve, last) - curve[0] >= std::log10(kKept) ? Status::kNoCollapse : Status::kIrregular;
  }
  return decay;
}

std::string decay_words(const Decay& decay, std::span<const double> curve) {
  if (decay.law == Status::kExactlyZero) return "none: all tokens are identical";
  const double first = curve[0], last = at(curve, decay.last);
  const std::string way = fmt::format("{} to {} in {} layer{}", power_of_ten(first, 3), power_of_ten(last, 3),
                                      decay.last, decay.last == 1 ? "" : "s");
  switch (decay.law) {
    case Status::kDoublyExponential:
      return fmt::format("doubly exponential decay: {} (local exponent {:.2f} to {:.2f} over layers {} to {})", way,
                         decay.low, decay.high, decay.first, decay.last);
    case Status::kExponential:
      return fmt::format("exponential decay: {}, by a factor of {} per layer (layers {} to {}, R² {:.4f})", way,
                         power_of_ten(decay.slope, 3), decay.first, decay.last, decay.r2);
    case Status::kNoCollapse:
      return fmt::format("no collapse: retains {:.0f} % of its residual ({})", 100 * std::pow(10, last - first), way);
    case Status::kIrregular:
      if (decay.r2 > 0.95) return fmt::format("slow decay: {}; the fall is too small to tell its law", way);
      return fmt::format("irregular decay: {}; no exponential fits (R² {:.2f})", way, decay.r2);
    default:
      return fmt::format("{}; too few layers to name a law (five states are needed)",
                         last - first <= kCollapsed ? "collapse: " + way : way);
  }
}

}  // namespace rankfall
