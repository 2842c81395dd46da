#include "view/number_text.h"

#include <limits>

#include <gmock/gmock.h>

#include "render/terminal/screen_text.h"

namespace rankfall {
namespace {

TEST(Significant, HasThreeDigits) {
  const std::pair<double, const char*> cases[] = {{0, "0"},
                                                  {0.6117, "0.612"},
                                                  {0.01758, "0.0176"},
                                                  {0.0012345, "0.00123"},
                                                  {0.0009999, "0.00100"},
                                                  {6.99e-7, "6.99×10^-7"},
                                                  {0.9996, "1.00"},
                                                  {1, "1.00"},
                                                  {12.34, "12.3"},
                                                  {123.4, "123"},
                                                  {1234, "1234"},
                                                  {999499, "999499"},
                                                  {999999, "1.00×10^6"},
                                                  {-0.5, "-0.500"},
                                                  {-1e-9, "-1.00×10^-9"},
                                                  {5e-324, "4.94×10^-324"},
                                                  {1.7e308, "1.70×10^308"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(significant(value), text) << value;
  EXPECT_EQ(significant(0.61, 2), "0.61");
  EXPECT_EQ(significant(7e-7, 2), "7.0×10^-7");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Logarithm, KeepsWhatIsOfInterest) {
  EXPECT_EQ(logarithm(-0.237), "-0.24");
  EXPECT_EQ(logarithm(-20.31), "-20.31");
  EXPECT_EQ(logarithm(-1688.62), "-1688.6");
  EXPECT_EQ(logarithm(-190123.4), "-190123");
  EXPECT_EQ(logarithm(-4.3e12), "-4300000000000");
  EXPECT_EQ(logarithm(-4.3e15), "-4.30×10^15");
  EXPECT_EQ(logarithm(-405470874, true), "-4.05×10^8") << "like its neighbours in a column of huge ones";
  EXPECT_EQ(significant(2e-16, 1), "2×10^-16");
  EXPECT_EQ(significant(1e-7, 1), "10^-7");
}

TEST(AlignPoints, PutsPointsUnderEachOther) {
  std::vector<std::string> numbers = {"0.612", "12.3", "~2×10^-7", "128", "-", "10^-7"};
  align_points(numbers);
  EXPECT_THAT(numbers,
              testing::ElementsAre("  0.612  ", " 12.3    ", " ~2×10^-7", "128      ", "  -      ", " 10^-7   "));
}

TEST(Bar, IsInEighths) {
  EXPECT_EQ(bar(0, 4, true), "    ");
  EXPECT_EQ(bar(1, 4, true), "████");
  EXPECT_EQ(bar(0.5, 4, true), "██  ");
  EXPECT_EQ(bar(1.0 / 32, 4, true), "▏   ");
  EXPECT_EQ(bar(0.97, 4, true), "███▉");
  EXPECT_EQ(bar(0.6, 4, false), "##: ");
}

TEST(Bar, HasItsWidthForAnyNumber) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double fraction : {-inf, -1.0, 0.0, 0.013, 0.3, 0.999, 1.0, 7.0, inf, std::nan("")}) {
    for (const int width : {1, 6, 20}) {
      EXPECT_EQ(display_width(bar(fraction, width, true)), width) << fraction;
      EXPECT_EQ(bar(fraction, width, false).size(), static_cast<std::size_t>(width)) << fraction;
    }
  }
}

TEST(DigitsText, RoundsWhatIsTooLong) {
  EXPECT_EQ(digits_text("531441", 9), "531441");
  EXPECT_EQ(digits_text("23298085122481", 9), "2.33×10^13");
  EXPECT_EQ(digits_text("999999999999", 9), "1.00×10^12");
  EXPECT_EQ(digits_text(std::string(400, '9'), 9), "1.00×10^400");
  EXPECT_EQ(digits_text("4509800000000000000000", 9), "4.51×10^21");
  EXPECT_EQ(digits_text("0", 1), "0");
}

TEST(PowerOfTen, ReadsWell) {
  EXPECT_EQ(power_of_ten(-0.24, 3), "0.575");
  EXPECT_EQ(power_of_ten(-0.01), "0.98");
  EXPECT_EQ(power_of_ten(0), "1.0");
  EXPECT_EQ(power_of_ten(-20.31), "10^-20.3");
  EXPECT_EQ(power_of_ten(-403012.9), "10^-403013");
  EXPECT_EQ(power_of_ten(-4.5e12), "10^(-4.50×10^12)");
}

// U26: "0e+00" and "1e-06" stood beside 10^-6 in one table.
TEST(Trimmed, HasNoZerosAtTheEndAndNoLetterE) {
  EXPECT_EQ(trimmed(0), "0");
  EXPECT_EQ(trimmed(-0.0), "0");
  EXPECT_EQ(trimmed(1), "1");
  EXPECT_EQ(trimmed(100), "100");
  EXPECT_EQ(trimmed(-2.50), "-2.5");
  EXPECT_EQ(trimmed(1.477811), "1.47781");
  EXPECT_EQ(trimmed(0.1326, 4), "0.1326");
  EXPECT_EQ(trimmed(1e-100, 1), "10^-100");
  EXPECT_EQ(trimmed(1e-6), "10^-6");
  EXPECT_EQ(trimmed(-1e-6), "-10^-6");
  EXPECT_EQ(trimmed(1.5e-6), "1.5×10^-6");
  EXPECT_EQ(trimmed(2e9, 3), "2×10^9");
}

}  // namespace
}  // namespace rankfall
