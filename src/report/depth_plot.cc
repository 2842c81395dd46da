#include "report/depth_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "report/paint.h"
#include "report/screen_text.h"

namespace rankfall {
namespace {

constexpr int kRows = 20;
constexpr int kLabel = 9;          // columns of the axis
constexpr double kSmallest = 0.1;  // exponents nearer to 0 are drawn at the top

constexpr std::array<std::string_view, 8> kSigns = {"●", "▲", "■", "◆", "○", "△", "□", "◇"};
constexpr std::array<std::string_view, 8> kAsciiSigns = {"o", "^", "#", "x", "@", "+", "%", "&"};

// Characters by row and column; what is written first stays.
class Canvas {
 public:
  Canvas(int rows, int columns)
      : columns_(columns), cells_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)) {}

  // What stands there now.
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

struct Point {
  int row, column;
};

}  // namespace

std::string depth_plot(const LayerBlock& block, const TableOptions& options) {
  double deepest = 1;
  for (const auto& cells : block.cells) {
    for (const LayerCell& cell : cells) deepest = std::max(deepest, -cell.mean.value_or(0));
  }
  if (block.layers.empty()) return "";
  const double top = std::log10(kSmallest);
  const double bottom = std::log10(deepest);
  const int columns = std::max(20, options.width - kLabel - 2);
  const Index last_layer = std::max<Index>(block.layers.back(), 1);
  const auto row_of = [&](double exponent) {  // of 10^-exponent
    const double y = std::log10(std::max(exponent, kSmallest));
    return static_cast<int>(std::lround((y - top) / (bottom - top) * (kRows - 1)));
  };
  const auto column_of = [&](Index layer) {
    return static_cast<int>(std::lround(static_cast<double>(layer) / static_cast<double>(last_layer) * (columns - 1)));
  };

  Canvas canvas(kRows, columns);
  const auto& signs = options.unicode ? kSigns : kAsciiSigns;
  std::vector<std::vector<Point>> curves;
  for (const auto& cells : block.cells) {
    auto& curve = curves.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].mean) curve.push_back({row_of(-*cells[i].mean), column_of(block.layers[i])});
    }
  }
  for (std::size_t v = 0; v < curves.size(); ++v) {
    const std::string_view sign = signs[v % signs.size()];
    for (const Point& point : curves[v]) {
      for (const int shift : {0, 1, 2, -1, -2}) {  // beside each other where curves meet
        if (canvas.put(point.row, point.column + shift, sign) == sign) break;
      }
    }
  }
  for (const auto& curve : curves) {
    for (std::size_t i = 1; i < curve.size(); ++i) {
      const Point a = curve[i - 1];
      const Point b = curve[i];
      const int steps = std::max(std::abs(b.row - a.row), std::abs(b.column - a.column) / 2);
      for (int s = 1; s < steps; ++s) {
        const double t = static_cast<double>(s) / steps;
        canvas.put(static_cast<int>(std::lround(a.row + t * (b.row - a.row))),
                   static_cast<int>(std::lround(a.column + t * (b.column - a.column))), options.unicode ? "·" : ".");
      }
    }
  }
  const auto floor_line = [&](double epsilon, std::string_view name) {
    const double exponent = -std::log10(epsilon);
    if (exponent >= deepest) return;
    const int row = row_of(exponent);
    for (std::size_t c = 0; c < name.size(); ++c) canvas.put(row, static_cast<int>(c), name.substr(c, 1));
    for (int c = static_cast<int>(name.size()) + 1; c < columns; ++c) canvas.put(row, c, options.unicode ? "╌" : "-");
  };
  floor_line(std::numeric_limits<float>::epsilon(), "float32");
  floor_line(std::numeric_limits<double>::epsilon(), "float64");

  std::vector<std::string> labels(kRows);
  for (double exponent = kSmallest; exponent <= deepest * 1.0001; exponent *= 10) {
    labels[static_cast<std::size_t>(row_of(exponent))] = exponent < 1 ? fmt::format("10^-{:.1f}", exponent)
                                                         : exponent < 1e5
                                                             ? fmt::format("10^-{:.0f}", exponent)
                                                             : fmt::format("10^-1e{:.0f}", std::log10(exponent));
  }
  const Painter paint(options.colour);
  const std::string bar = options.unicode ? "│" : "|";
  std::string out;
  for (int r = 0; r < kRows; ++r) {
    std::string line =
        paint(Colour::kDim, fit(labels[static_cast<std::size_t>(r)], kLabel, Align::kRight) + " " + bar) +
        canvas.line(r);
    out += line + '\n';
  }
  const std::string last = fmt::format("layer {}", block.layers.back());
  out += paint(Colour::kDim,
               std::string(kLabel + 2, ' ') + fit("0", columns - static_cast<int>(last.size()), Align::kLeft) + last) +
         '\n';
  std::string legend;
  for (std::size_t v = 0; v < block.variants.size(); ++v) {
    legend += fmt::format("{}{} {}", v == 0 ? "" : "   ", signs[v % signs.size()],
                          screen_name(block.variants[v], options.unicode));
  }
  for (const auto& line : wrap(legend, columns, options.unicode)) out += std::string(kLabel + 2, ' ') + line + '\n';
  return out;
}

}  // namespace rankfall
