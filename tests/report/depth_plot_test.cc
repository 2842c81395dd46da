#include "report/depth_plot.h"

#include <gtest/gtest.h>

#include "report/lines.h"
#include "report/screen_text.h"

namespace rankfall {
namespace {

LayerBlock block() {
  LayerBlock block;
  block.metric = "log10_relative_residual.composite";
  block.variants = {"full", "san"};
  block.layers = {0, 1, 2, 3};
  const auto cells = [](std::initializer_list<double> values) {
    std::vector<LayerCell> out;
    for (const double value : values) {
      LayerCell cell;
      cell.mean = value;
      out.push_back(cell);
    }
    return out;
  };
  block.cells = {cells({-0.2, -0.2, -0.2, -0.2}), cells({-0.2, -2, -20, -200})};
  return block;
}

TEST(DepthPlot, DoublyExponentialDecayIsAStraightLine) {
  TableOptions options;
  options.width = 60;
  options.unicode = false;
  const auto plot = lines(depth_plot(block(), options));
  std::vector<std::pair<int, int>> points;  // of '^'
  for (std::size_t r = 0; r < 20; ++r) {
    for (std::size_t c = 0; c < plot[r].size(); ++c) {
      if (plot[r][c] == '^' && plot[r].find('|') < c) points.emplace_back(static_cast<int>(r), static_cast<int>(c));
    }
  }
  ASSERT_GE(points.size(), 3U);
  const auto& p = points;
  for (std::size_t i = 2; i < p.size(); ++i) {
    EXPECT_NEAR(p[i].first - p[i - 1].first, p[i - 1].first - p[i - 2].first, 1);
    EXPECT_NEAR(p[i].second - p[i - 1].second, p[i - 1].second - p[i - 2].second, 2);
  }
}

TEST(DepthPlot, FitsTheWidthAndSaysWhatIsWhat) {
  for (const bool unicode : {false, true}) {
    TableOptions options;
    options.width = 70;
    options.unicode = unicode;
    const std::string plot = depth_plot(block(), options);
    for (const std::string& line : lines(plot)) EXPECT_LE(display_width(line), 70) << line;
    for (const char* text :
         {"10^-0.1", "10^-1 ", "10^-10 ", "10^-100 ", "layer 3", "full", "san", "float32", "float64"}) {
      EXPECT_NE(plot.find(text), std::string::npos) << text;
    }
    if (!unicode) {
      for (const char c : plot) EXPECT_LT(static_cast<unsigned char>(c), 128);
    }
  }
}

TEST(DepthPlot, OfNothing) {
  EXPECT_EQ(depth_plot(LayerBlock{}, {}), "");
  LayerBlock empty = block();
  for (auto& cells : empty.cells) {
    for (LayerCell& cell : cells) cell.mean.reset();
  }
  EXPECT_NE(depth_plot(empty, {}), "");
  LayerBlock one = block();
  one.layers = {0};
  for (auto& cells : one.cells) cells.resize(1);
  EXPECT_NE(depth_plot(one, {}), "");
}

}  // namespace
}  // namespace rankfall
