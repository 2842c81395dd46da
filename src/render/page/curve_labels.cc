#include "render/page/curve_labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "render/page/axis_labels.h"

namespace rankfall {
namespace {

// Half an ulp of 1: a relative residual below it is lost when it is added to the mean.
const double kFloat32Floor = -24 * std::log10(2.0), kFloat64Floor = -53 * std::log10(2.0);

}  // namespace

std::vector<ChartFloor> floors_of(std::pair<double, double> domain) {
  std::vector<ChartFloor> floors;
  if (domain.first < kFloat32Floor) {
    floors.push_back({std::max(domain.first, kFloat64Floor), kFloat32Floor, "below float32"});
  }
  if (domain.first < kFloat64Floor) floors.push_back({domain.first, kFloat64Floor, "below float64"});
  return floors;
}

bool crosses_name(const Curves& chart, const ChartFloor& floor, const LineChart& lines) {
  constexpr double kLine = 24, kShare = 0.62;  // pixels; of the width
  const auto place = [&](double value) { return pixels_from_top(value, *lines.y.domain, lines.y.scale, lines.height); };
  const double top = place(floor.high) - 4, bottom = top + kLine;
  SharedRange x;
  for (const Point& point : chart.points) x.add(point.x);
  std::map<std::string_view, std::map<double, double>> curves;
  for (const Point& point : chart.points) {
    if (point.value) curves[point.series][point.x] = place(*point.value);
  }
  for (const auto& [series, curve] : curves) {
    const std::pair<const double, double>* before = nullptr;
    for (const auto& here : curve) {
      for (int step = 0; before && step <= 16; ++step) {
        const double share = step / 16.0, at = before->first + share * (here.first - before->first);
        const double y = before->second + share * (here.second - before->second);
        if (at - x.low >= kShare * (x.high - x.low) && y >= top && y <= bottom) return true;
      }
      before = &here;
    }
  }
  return false;
}

std::vector<EndLabel> end_labels(const Curves& chart, const std::vector<DrawnSeries>& series, const LineChart& lines) {
  std::vector<EndLabel> labels;
  for (const DrawnSeries& one : series) {
    const Point* last = nullptr;
    for (const Point& point : chart.points) {
      const bool first_source = chart.sources.empty() || point.source == chart.sources.front();
      if (point.series != one.name || !point.value || !first_source) continue;
      if (!last || point.x >= last->x) last = &point;
    }
    if (!last) continue;
    labels.push_back(
        {one.title, one.colour, pixels_from_top(*last->value, *lines.y.domain, lines.y.scale, lines.height)});
  }
  spread(labels, lines.height);
  return labels;
}

std::vector<PointLabel> peak_labels(const Curves& chart, const std::vector<DrawnSeries>& series,
                                    const LineChart& lines) {
  constexpr double kWidth = 1000, kLetter = 7, kLine = 15;
  struct Box {
    double left, right, top, bottom;
    bool overlaps(const Box& other) const {
      return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
  };
  struct Place {
    double dx, dy;
    const char* align;
  };
  constexpr std::array<Place, 5> kPlaces = {
      {{0, -12, "center"}, {-9, -3, "right"}, {9, -3, "left"}, {-9, -16, "right"}, {0, -26, "center"}}};
  const std::string source = chart.sources.empty() ? "" : chart.sources.front();
  SharedRange x;
  for (const Point& point : chart.points) x.add(std::log(point.x));
  std::vector<Box> taken;
  std::vector<PointLabel> labels;
  for (const DrawnSeries& one : series) {
    const Point* peak = nullptr;
    for (const Point& point : chart.points) {
      if (point.series != one.name || !point.value || point.source != source) continue;
      if (!peak || *point.value > *peak->value) peak = &point;
    }
    if (!peak || !(x.high > x.low)) continue;
    const double at = kWidth * (std::log(peak->x) - x.low) / (x.high - x.low);
    const double top = pixels_from_top(*peak->value, *lines.y.domain, lines.y.scale, lines.height);
    const double width = kLetter * static_cast<double>(one.name.size());
    for (const Place& place : kPlaces) {
      const std::string_view align = place.align;
      const double left = at + place.dx - (align == "center" ? width / 2 : align == "right" ? width : 0);
      const Box box{left, left + width, top + place.dy - kLine / 2, top + place.dy + kLine / 2};
      if (left < 0 || box.right > kWidth ||
          std::ranges::any_of(taken, [&](const Box& other) { return box.overlaps(other); }))
        continue;
      taken.push_back(box);
      labels.push_back({one.name, source, one.colour, peak->x, place.dx, place.dy, place.align});
      break;
    }
  }
  return labels;
}

}  // namespace rankfall
