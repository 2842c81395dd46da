#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/page/chart.h"
#include "report/page/page.h"

namespace rankfall {

// Logarithms below this are drawn by the logarithm of the exponent.
inline constexpr double kDeep = -30;

// One point of a chart of curves.
struct CurvePoint {
  double x = 0;
  std::string series, source;
  std::optional<double> value;
  std::optional<double> low, high;  // of a band or bar about it
  std::optional<Index> n;
  std::string note;
  bool at_floor = false;  // rounding, not the network
};

// Curves over layers, lengths or steps: most charts of the page are of this kind.
struct CurveChart {
  std::string title, description;
  std::string x_title, y_title;
  std::string series_title = "variant";
  std::string source_title;
  std::vector<std::string> sources;  // with two or more, curves of different sources have different dashes
  std::vector<Series> series;
  std::vector<CurvePoint> points;
  bool is_log10 = false;   // values are logarithms; shown as powers of ten
  bool deep = false;       // of logarithms: the logarithm of the exponent first, whatever the values
  bool log_first = false;  // of values: the logarithmic scale is shown first
  bool only_linear = false;
  bool zero = false;  // of logarithms: the axis shows 10⁰
  bool log_x = false;
  bool bars = false;  // low and high as bars instead of a band
  bool lines = true;
  bool wide = false;
  std::optional<std::pair<double, double>> domain;  // of the linear view
};
Panel curve_panel(CurveChart chart);

// A band of one deviation about the mean.
void set_band(CurvePoint& point, const Row& row);

// Takes series out of a figure's legend of which no panel has anything to draw.
void drop_empty_series(Figure& figure);

// Names in the order of their first use.
class Names {
 public:
  void add(const std::string& name);
  const std::vector<std::string>& list() const { return names_; }

 private:
  std::vector<std::string> names_;
};

PageCell cell(std::optional<double> value);
template <class T>
PageCell cell(const std::optional<T>& value) {
  return value ? PageCell(static_cast<double>(*value)) : PageCell();
}
PageCell cell(const std::string& text);

}  // namespace rankfall
