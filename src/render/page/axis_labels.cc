#include "render/page/axis_labels.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace rankfall {
namespace {

// An expression whose value is the text of `expression` raised: "-12" becomes "⁻¹²".
std::string raised(std::string expression) {
  constexpr std::array<std::pair<const char*, const char*>, 11> kRaised = {{{"0", "⁰"},
                                                                            {"1", "¹"},
                                                                            {"2", "²"},
                                                                            {"3", "³"},
                                                                            {"4", "⁴"},
                                                                            {"5", "⁵"},
                                                                            {"6", "⁶"},
                                                                            {"7", "⁷"},
                                                                            {"8", "⁸"},
                                                                            {"9", "⁹"},
                                                                            {"−", "⁻"}}};
  for (const auto& [digit, high] : kRaised) {
    expression = fmt::format("replace({}, regexp('{}', 'g'), '{}')", expression, digit, high);
  }
  return expression;
}

// The label of a number that an axis shows, from expressions of its log10 and of itself: 10⁻¹² where it is a power of
// ten, 0.32 where that is short, 3.2×10⁻¹³ elsewhere.
std::string number_label(const std::string& log10, const std::string& number, bool short_powers, int digits) {
  const std::string power = fmt::format("'10' + {}", raised(fmt::format("format(round({}), 'd')", log10)));
  const std::string plain = fmt::format("format({}, '.{}~r')", number, digits);
  const std::string both = fmt::format("format(pow(10, {} - floor({})), '.{}~r') + '×10' + {}", log10, log10, digits,
                                       raised(fmt::format("format(floor({}), 'd')", log10)));
  const std::string is_power = fmt::format("abs({} - round({})) < 1e-9", log10, log10);
  const std::string is_short = fmt::format("abs({}) < 4", log10);
  return short_powers ? fmt::format("{} ? {} : {} ? {} : {}", is_short, plain, is_power, power, both)
                      : fmt::format("{} ? {} : {} ? {} : {}", is_power, power, is_short, plain, both);
}

}  // namespace

std::string power_label(int digits) { return number_label("datum.value", "pow(10, datum.value)", false, digits); }

std::string value_label() { return number_label("(log(datum.value) / LN10)", "datum.value", true, 6); }

std::string linear_label() {
  const std::string size = "abs(datum.value)", log10 = "(log(abs(datum.value)) / LN10)";
  // Steps of an axis are sums, so that a tick at 2e-6 may be 1.9999999999999998e-6.
  const std::string power = fmt::format("floor({} + 1e-9)", log10);
  const std::string mantissa = fmt::format("format({} / pow(10, {}), '.6~r')", size, power);
  const std::string raised_power = fmt::format("'10' + {}", raised(fmt::format("format({}, 'd')", power)));
  return fmt::format(
      "{0} < 1e-300 ? '0' : {0} >= 0.000999 && {0} < 1e6 ? format(datum.value, ',.6~r') : (datum.value < 0 ? '−' : '') "
      "+ ({1} == '1' ? '' : {1} + '·') + {2}",
      size, mantissa, raised_power);
}

double pixels_from_top(double value, std::pair<double, double> domain, const std::string& scale, int height) {
  const auto place = [&](double v) { return scale == "symlog" ? std::copysign(std::log1p(std::abs(v)), v) : v; };
  const double low = place(domain.first), high = place(domain.second);
  if (!(high > low)) return 0.5 * height;
  return height * (1 - (place(value) - low) / (high - low));
}

void spread(std::vector<EndLabel>& labels, int height) {
  constexpr double kLine = 16;
  std::ranges::stable_sort(labels, {}, &EndLabel::y);
  for (std::size_t i = 1; i < labels.size(); ++i) labels[i].y = std::max(labels[i].y, labels[i - 1].y + kLine);
  double most = height;
  for (std::size_t i = labels.size(); i-- > 0; most = labels[i].y - kLine) labels[i].y = std::min(labels[i].y, most);
}

PowerTicks narrow_power_ticks(double lowest, double highest) {
  constexpr double kWhole = 2;        // powers of ten have room
  constexpr double kSmallest = -290;  // below, values are no doubles
  if (!(highest - lowest < kWhole) || lowest < kSmallest || highest > -kSmallest) return {};
  const double low = std::pow(10, lowest), high = std::pow(10, highest);
  PowerTicks out;
  const auto add = [&](double value) {
    if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) out.ticks.push_back(std::log10(value));
  };
  constexpr double kLinear = 5;  // below this ratio steps are equal
  if (high / low >= kLinear) {
    for (double power = std::pow(10, std::floor(lowest)); power <= high; power *= 10) {
      for (const double step : {1.0, 2.0, 3.0, 5.0}) add(step * power);
    }
    return out;
  }
  const double rough = (high - low) / 4;
  if (!(rough > high * 1e-12)) {
    out.ticks = {lowest};
    return out;
  }
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough / power >= 5 ? 5 * power : rough / power >= 2 ? 2 * power : power;
  for (double value = std::ceil(low / step * (1 - 1e-12)) * step; value <= high * (1 + 1e-12); value += step)
    add(value);
  out.digits = static_cast<int>(std::floor(std::log10(high)) - std::floor(std::log10(step) + 1e-9)) + 1;
  return out;
}

std::vector<double> power_ticks(double lowest, double highest) {
  std::vector<double> ticks = {0};
  for (double power = 1; power <= std::max(-lowest, highest) * 1.0001 && ticks.size() < 60; power *= 10) {
    for (const double tick : {power, 3 * power}) {
      if (-tick >= lowest) ticks.push_back(-tick);
      if (tick <= highest) ticks.push_back(tick);
    }
  }
  std::ranges::sort(ticks);
  return ticks;
}

}  // namespace rankfall
