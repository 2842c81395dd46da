#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "render/terminal/curve_grid.h"
#include "render/terminal/screen.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

constexpr int kRows = 20;
constexpr int kLeastLabel = 9, kMostLabel = 16;  // columns of the axis
constexpr double kSmallest = 0.1;                // exponents nearer to 0 are drawn at the top
constexpr double kDeep = 30;                     // exponents beyond this have an axis that is logarithmic in them
constexpr double kDecades = 100;                 // values that span more have a logarithmic axis

constexpr std::array<std::string_view, 8> kSigns = {"●", "▲", "■", "◆", "○", "△", "□", "◇"};
constexpr std::array<std::string_view, 8> kAsciiSigns = {"o", "^", "#", "x", "@", "+", "%", "&"};

// Characters by row and column; what is written first stays.
class Canvas {
 public:
  Canvas(int rows, int columns)
      : columns_(columns), cells_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}

  // The character at this place.
  std::string_view put(int row, int column, std::string_view sign) {
    if (column < 0 || column >= columns_) return "";
    std::string_view& cell = cells_[index(row, column)];
    if (cell.empty()) cell = sign;
    return cell;
  }
  std::string line(int row) const {
    std::string out;
    for (int c = 0; c < columns_; ++c) {
      const std::string_view cell = cells_[index(row, c)];
      out += cell.empty() ? " " : cell;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }

 private:
  std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(column);
  }

  int columns_;
  std::vector<std::string_view> cells_;
};

struct Place {
  int row, column;
};

// A vertical axis: where a value is drawn, and what stands beside it.
struct PlotScale {
  std::string note;  // what is unusual about it
  struct Mark {
    double value;
    std::string text;
  };
  std::function<double(double value)> place;  // 0 at the top, 1 at the bottom
  std::vector<Mark> labels;
  std::vector<Mark> lines;  // across
};

// For logarithms down to -deepest, which is beyond kDeep.
PlotScale exponent_scale(double deepest) {
  PlotScale scale;
  scale.note = "axis: logarithm of the exponent";
  const double top = std::log10(kSmallest), bottom = std::log10(deepest);
  scale.place = [top, bottom](double value) {
    return (std::log10(std::max(-value, kSmallest)) - top) / (bottom - top);
  };
  for (double exponent = kSmallest; exponent <= deepest * 1.0001; exponent *= 10) {
    scale.labels.push_back({-exponent, exponent < 1     ? fmt::format("10^-{:.1f}", exponent)
                                       : exponent < 1e5 ? fmt::format("10^-{:.0f}", exponent)
                                                        : fmt::format("10^-10^{:.0f}", std::log10(exponent))});
  }
  return scale;
}

// For positive values over several decades.
PlotScale decade_scale(double low, double high) {
  PlotScale scale;
  const double top = std::ceil(std::log10(high) - 1e-9), bottom = std::floor(std::log10(low) + 1e-9);
  scale.place = [top, bottom](double value) { return (top - std::log10(value)) / (top - bottom); };
  const double step = std::max(1.0, std::ceil((top - bottom) / 8));
  for (double power = top; power >= bottom; power -= step) {
    scale.labels.push_back({std::pow(10, power), power == 0 ? "1" : fmt::format("10^{:.0f}", power)});
  }
  return scale;
}

PlotScale linear_scale(double low, double high) {
  if (low > 0 && low < 0.5 * high) low = 0;
  if (high < 0 && high > 0.5 * low) high = 0;
  if (high - low <= 1e-12 * std::max(std::abs(high), std::abs(low))) {
    const double room = high == 0 ? 1 : std::abs(high) * 0.1;
    low -= room;
    high += room;
  }
  PlotScale scale;
  scale.place = [low, high](double value) { return (high - value) / (high - low); };
  // Steps of 1, 2 or 5 times a power of ten, about five of them.
  const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
  const double step = power * (rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10);
  constexpr std::size_t kMostLabels = 12;
  for (double value = std::ceil(low / step - 1e-9) * step;
       value <= high + 1e-9 * step && scale.labels.size() < kMostLabels; value += step) {
    scale.labels.push_back({value, trimmed(std::abs(value) < 1e-9 * step ? 0 : value, 4)});
  }
  return scale;
}

// Lines across a plot of logarithms where float32 and float64 end, if it goes deeper.
std::vector<PlotScale::Mark> precision_lines(double lowest) {
  std::vector<PlotScale::Mark> lines;
  for (const auto& [epsilon, name] :
       {std::pair<double, const char*>(std::numeric_limits<float>::epsilon(), "float32"),
        std::pair<double, const char*>(std::numeric_limits<double>::epsilon(), "float64")}) {
    if (std::log10(epsilon) > lowest) lines.push_back({std::log10(epsilon), name});
  }
  return lines;
}

PlotScale scale_for(const Curves& curves, const CurveGrid& grid) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const auto& cells : grid.cells) {
    for (const Point* point : cells) {
      if (!point || !point->value) continue;
      low = std::min(low, *point->value);
      high = std::max(high, *point->value);
    }
  }
  if (!std::isfinite(low)) return linear_scale(0, 1);
  if (curves.scale == Scale::kLog10) {
    const bool deep = high <= 0 && -low > kDeep;
    PlotScale scale = deep ? exponent_scale(-low) : linear_scale(low, high);
    if (!deep) {
      for (PlotScale::Mark& label : scale.labels) label.text = "10^" + label.text;
    }
    if (curves.precisions) scale.lines = precision_lines(low);
    return scale;
  }
  return low > 0 && high / low > kDecades ? decade_scale(low, high) : linear_scale(low, high);
}

}  // namespace

std::string plot_of(const Curves& curves, const CurveGrid& grid, const Screen& screen) {
  const TableOptions& options = screen.options;
  const PlotScale scale = scale_for(curves, grid);
  int axis = kLeastLabel;
  for (const PlotScale::Mark& label : scale.labels) axis = std::max(axis, display_width(screen.text(label.text)));
  axis = std::min(axis, kMostLabel);
  const int columns = std::max(20, options.width - axis - 2);
  const double first = grid.xs.front(), span = std::max(grid.xs.back() - first, 1.0);
  // Distances of huge values may be infinite, and their quotients no numbers: those are drawn at the beginning.
  const auto at = [](double share, int n) {
    return std::isfinite(share) ? static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * (n - 1))) : 0;
  };
  const auto row_of = [&](double value) { return at(scale.place(value), kRows); };
  const auto column_of = [&](double x) { return at((x - first) / span, columns); };

  Canvas canvas(kRows, columns);
  const auto& signs = options.unicode ? kSigns : kAsciiSigns;
  std::vector<std::vector<Place>> places;
  for (const auto& cells : grid.cells) {
    auto& curve = places.emplace_back();
    for (const Point* point : cells) {
      if (point && point->value) curve.push_back({row_of(*point->value), column_of(point->x)});
    }
  }
  for (std::size_t v = 0; v < places.size(); ++v) {
    const std::string_view sign = signs[v % signs.size()];
    for (const Place& point : places[v]) {
      for (const int shift : {0, 1, 2, -1, -2}) {  // beside each other where curves meet
        if (canvas.put(point.row, point.column + shift, sign) == sign) break;
      }
    }
  }
  for (const auto& curve : places) {
    for (std::size_t i = 1; i < curve.size(); ++i) {
      const Place a = curve[i - 1];
      const Place b = curve[i];
      const int steps = std::max(std::abs(b.row - a.row), std::abs(b.column - a.column) / 2);
      for (int s = 1; s < steps; ++s) {
        const double t = static_cast<double>(s) / steps;
        canvas.put(static_cast<int>(std::lround(a.row + t * (b.row - a.row))),
                   static_cast<int>(std::lround(a.column + t * (b.column - a.column))), options.unicode ? "·" : ".");
      }
    }
  }
  for (const auto& [value, name] : scale.lines) {
    const int row = row_of(value);
    const std::string_view text = name;
    for (std::size_t c = 0; c < text.size(); ++c) canvas.put(row, static_cast<int>(c), text.substr(c, 1));
    for (int c = static_cast<int>(text.size()) + 1; c < columns; ++c) canvas.put(row, c, options.unicode ? "╌" : "-");
  }

  std::vector<std::string> labels(kRows);
  for (const auto& [value, text] : scale.labels) labels[static_cast<std::size_t>(row_of(value))] = screen.text(text);
  const Painter& paint = screen.paint;
  const std::string bar = options.unicode ? "│" : "|";
  std::string out;
  for (int r = 0; r < kRows; ++r) {
    out += paint(Colour::kDim,
                 fit(labels[static_cast<std::size_t>(r)], axis, Align::kRight, options.unicode) + " " + bar) +
           canvas.line(r) + '\n';
  }
  const std::string begin = screen.text(trimmed(first));
  const std::string last = fmt::format("{} {}", screen.text(curves.x), screen.text(trimmed(grid.xs.back())));
  out += paint(Colour::kDim, std::string(static_cast<std::size_t>(axis) + 2, ' ') +
                                 fit(begin, columns - display_width(last), Align::kLeft, options.unicode) + last) +
         '\n';
  std::string legend;
  for (std::size_t v = 0; v < grid.names.size(); ++v) {
    legend += fmt::format("{}{} {}", v == 0 ? "" : "   ", signs[v % signs.size()], screen.text(grid.names[v]));
  }
  if (!scale.note.empty()) legend += "   (" + scale.note + ")";
  for (const auto& line : wrap(legend, columns, options.unicode))
    out += std::string(static_cast<std::size_t>(axis) + 2, ' ') + line + '\n';
  return out;
}

}  // namespace rankfall
