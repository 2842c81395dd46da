#include <gtest/gtest.h>

#include "render/lines.h"
#include "render/terminal/curve_grid.h"
#include "render/terminal/screen.h"

namespace rankfall {
namespace {

Curves plotted(const std::vector<double>& full, const std::vector<double>& san) {
  Curves curves;
  const auto add = [&](const char* series, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      Point point;
      point.x = static_cast<double>(i);
      point.series = series;
      point.value = values[i];
      curves.points.push_back(point);
    }
  };
  add("full", full);
  add("san", san);
  return curves;
}

Curves deep() {
  Curves curves = plotted({-0.2, -0.2, -0.2, -0.2}, {-0.2, -2, -20, -200});
  curves.scale = Scale::kLog10;
  curves.precisions = true;
  return curves;
}

std::string plot(const Curves& curves, int width = 60, bool unicode = false) {
  const TableOptions options{.width = width, .unicode = unicode};
  return plot_of(curves, grid_of(curves, {}), Screen(options));
}

TEST(Plot, DoublyExponentialDecayIsAStraightLine) {
  const auto rows = lines(plot(deep()));
  std::vector<std::pair<int, int>> p;  // of '^'
  for (std::size_t r = 0; r < 20; ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      if (rows[r][c] == '^' && rows[r].find('|') < c) p.emplace_back(static_cast<int>(r), static_cast<int>(c));
    }
  }
  ASSERT_GE(p.size(), 3U);
  for (std::size_t i = 2; i < p.size(); ++i) {
    EXPECT_NEAR(p[i].first - p[i - 1].first, p[i - 1].first - p[i - 2].first, 1);
    EXPECT_NEAR(p[i].second - p[i - 1].second, p[i - 1].second - p[i - 2].second, 2);
  }
}

TEST(Plot, FitsTheWidthAndSaysWhatIsWhat) {
  for (const bool unicode : {false, true}) {
    const std::string text = plot(deep(), 70, unicode);
    for (const std::string& line : lines(text)) EXPECT_LE(display_width(line), 70) << line;
    for (const char* word :
         {"10^-0.1", "10^-1 ", "10^-10 ", "10^-100 ", "layer 3", "full", "san", "float32", "float64"}) {
      EXPECT_NE(text.find(word), std::string::npos) << word;
    }
    for (const char c : text) EXPECT_TRUE(unicode || static_cast<unsigned char>(c) < 128);
  }
}

TEST(Plot, ValuesOverDecadesHaveALogarithmicAxisOthersALinearOne) {
  const std::string log = plot(plotted({0.6, 0.6, 0.6, 0.6}, {0.6, 1e-2, 1e-4, 1e-6}));
  for (const char* text : {"  1 |", "10^-2 |", "10^-6 |"}) EXPECT_NE(log.find(text), std::string::npos) << text << log;
  EXPECT_EQ(log.find("float32"), std::string::npos);
  const std::string linear = plot(plotted({0.6, 0.6}, {0.2, 0.2}));
  for (const char* text : {"0 |", "0.2 |", "0.6 |"}) EXPECT_NE(linear.find(text), std::string::npos) << text << linear;
  EXPECT_NE(plot(plotted({0, 0}, {0, 0})).find("0 |"), std::string::npos) << "all values equal";
}

TEST(Plot, OfLittle) {
  Curves empty = deep();
  for (Point& point : empty.points) point.value.reset();
  EXPECT_NE(plot(empty), "");
  EXPECT_NE(plot(plotted({1}, {})), "");
}

}  // namespace
}  // namespace rankfall
