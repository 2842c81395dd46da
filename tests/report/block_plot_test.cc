#include "report/block_plot.h"

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

TEST(BlockPlot, DoublyExponentialDecayIsAStraightLine) {
  TableOptions options;
  options.width = 60;
  options.unicode = false;
  const auto plot = lines(block_plot(block(), options));
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

TEST(BlockPlot, FitsTheWidthAndSaysWhatIsWhat) {
  for (const bool unicode : {false, true}) {
    TableOptions options;
    options.width = 70;
    options.unicode = unicode;
    const std::string plot = block_plot(block(), options);
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

TEST(BlockPlot, ValuesOverDecadesHaveALogarithmicAxisOthersALinearOne) {
  LayerBlock decades = block();
  decades.metric = "relative_residual.composite";
  const double values[] = {0.6, 1e-2, 1e-4, 1e-6};
  for (std::size_t i = 0; i < 4; ++i) {
    decades.cells[0][i].mean = 0.6;
    decades.cells[1][i].mean = values[i];
  }
  TableOptions options;
  options.width = 60;
  options.unicode = false;
  const std::string log = block_plot(decades, options);
  for (const char* text : {"  1 |", "10^-2 |", "10^-6 |"}) EXPECT_NE(log.find(text), std::string::npos) << text << log;
  EXPECT_EQ(log.find("float32"), std::string::npos);
  for (std::size_t i = 0; i < 4; ++i) decades.cells[1][i].mean = 0.2;
  const std::string linear = block_plot(decades, options);
  for (const char* text : {"0 |", "0.2 |", "0.6 |"}) EXPECT_NE(linear.find(text), std::string::npos) << text << linear;
  for (auto& cells : decades.cells) {
    for (LayerCell& cell : cells) cell.mean = 0;
  }
  EXPECT_NE(block_plot(decades, options).find("0 |"), std::string::npos) << "all values equal";
}

TEST(BlockPlot, NamesCannotBeAnAxis) {
  LayerBlock named = block();
  named.labels = {"a", "b", "c", "d"};
  EXPECT_EQ(block_plot(named, {}), "");
  named.labels = {"0", "1", "2", "10"};
  named.unit = "length";
  EXPECT_NE(block_plot(named, {}).find("length 10"), std::string::npos);
}

TEST(BlockPlot, OfNothing) {
  EXPECT_EQ(block_plot(LayerBlock{}, {}), "");
  LayerBlock empty = block();
  for (auto& cells : empty.cells) {
    for (LayerCell& cell : cells) cell.mean.reset();
  }
  EXPECT_NE(block_plot(empty, {}), "");
  LayerBlock one = block();
  one.layers = {0};
  for (auto& cells : one.cells) cells.resize(1);
  EXPECT_NE(block_plot(one, {}), "");
}

}  // namespace
}  // namespace rankfall
