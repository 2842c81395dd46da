#include "base/number_series.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/parse_number.h"

namespace rankfall {
namespace {

using Texts = std::vector<std::string>;

WrittenNumber number(std::string_view text) { return written_number(text).value(); }

Texts even(std::string_view a, std::string_view b, std::int64_t count) {
  return even_steps(number(a), number(b), count);
}

Texts geometric(std::string_view a, std::string_view b, std::string_view r) {
  return geometric_steps(number(a), number(b), number(r), 100).value();
}

TEST(NumberSeries, NumbersAreReadAsTheyAreWritten) {
  EXPECT_EQ(number("1e3").whole, 1000);
  EXPECT_EQ(number("-0.0").whole, 0);
  EXPECT_EQ(number("9223372036854775807").whole, INT64_MAX);
  EXPECT_EQ(number("1.5").whole, std::nullopt);
  EXPECT_EQ(number("1e300").whole, std::nullopt);
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "1x", " 1", "+1", "0x10"}) {
    EXPECT_FALSE(written_number(text)) << text;
  }
}

TEST(NumberSeries, TheShortestTextReadsBackToTheNumber) {
  const std::pair<const char*, const char*> cases[] = {
      {"0.10", "0.1"},
      {"-0", "0"},
      {"007", "7"},
      {"1e-5", "0.00001"},
      {"1e-12", "1e-12"},
      {"1e20", "1e+20"},
      {"0.30000000000000004", "0.30000000000000004"},
      {"9223372036854775807", "9223372036854775807"},
      {"5e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
  };
  for (const auto& [text, shortest] : cases) {
    EXPECT_EQ(shortest_text(number(text)), shortest);
    EXPECT_EQ(number(shortest_text(number(text))).value, number(text).value) << text;
  }
}

TEST(NumberSeries, EvenSteps) {
  EXPECT_EQ(even("0", "1", 5), (Texts{"0", "0.25", "0.5", "0.75", "1"}));
  EXPECT_EQ(even("1", "0", 3), (Texts{"1", "0.5", "0"}));
  EXPECT_EQ(even("1000", "4000", 4), (Texts{"1000", "2000", "3000", "4000"}));
  EXPECT_EQ(even("5", "-5", 3), (Texts{"5", "0", "-5"}));
  EXPECT_EQ(even("7.0", "7", 1), (Texts{"7"}));
  EXPECT_EQ(even("0.5", "0.50", 1), (Texts{"0.5"}));
  EXPECT_EQ(even("0", "1", 4), (Texts{"0", "0.3333333333333333", "0.6666666666666666", "1"}));
  EXPECT_EQ(even("-0.1", "0.2", 4), (Texts{"-0.1", "0", "0.1", "0.2"}));
  EXPECT_EQ(even("0.0001", "0.0003", 3), (Texts{"0.0001", "0.0002", "0.0003"}));
  EXPECT_EQ(even("9223372036854775805", "9223372036854775807", 3),
            (Texts{"9223372036854775805", "9223372036854775806", "9223372036854775807"}));
  EXPECT_EQ(even("-1e308", "1e308", 3), (Texts{"-1e+308", "0", "1e+308"}));
  EXPECT_EQ(even("-9223372036854775808", "9223372036854775807", 2),
            (Texts{"-9223372036854775808", "9223372036854775807"}));
}

TEST(NumberSeries, WholeNumbersKeepLeadingZeros) {
  EXPECT_EQ(even("08", "10", 3), (Texts{"08", "09", "10"}));
  EXPECT_EQ(even("000", "1000", 3), (Texts{"0000", "0500", "1000"}));
  EXPECT_EQ(geometric("01", "16", "4"), (Texts{"01", "04", "16"}));
  EXPECT_EQ(even("0", "10", 3), (Texts{"0", "5", "10"}));
  EXPECT_EQ(even(std::string(60'000, '0'), "1", 2)[0].size(), 20U) << "not a text of any length for each value";
}

// Every grid of n / 10^d: exactly the decimals that a person would write.
TEST(NumberSeries, EvenStepsOfDecimalsAreDecimals) {
  for (int digits : {1, 2, 5}) {
    const double unit = std::pow(10, digits);
    for (std::int64_t first : {-1000, -7, 0, 3, 999}) {
      for (std::int64_t step : {-13, -1, 1, 2, 37}) {
        const auto text = [&](std::int64_t n) {
          WrittenNumber exact{"", static_cast<double>(n) / unit, std::nullopt};  // correctly rounded
          return shortest_text(exact);
        };
        const Texts values = even(text(first), text(first + 100 * step), 101);
        for (std::int64_t i = 0; i <= 100; ++i) {
          EXPECT_EQ(values[static_cast<std::size_t>(i)], text(first + i * step))
              << first << " " << step << " " << digits;
        }
      }
    }
  }
}

TEST(NumberSeries, EvenStepsAreEvenToRounding) {
  const struct {
    const char* a;
    const char* b;
  } cases[] = {
      {"0.1234567890123456", "3.3333333333333335"}, {"-1e-300", "1e300"}, {"1e-310", "2e-310"}, {"-7.1", "-7"}};
  for (const auto& c : cases) {
    const double a = number(c.a).value;
    const double b = number(c.b).value;
    const Texts values = even(c.a, c.b, 57);
    ASSERT_EQ(values.size(), 57U);
    EXPECT_EQ(number(values.front()).value, a);
    EXPECT_EQ(number(values.back()).value, b);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto t = static_cast<long double>(i) / 56;
      const long double exact = a * (1 - t) + b * t;
      const double scale = std::max(std::abs(a), std::abs(b));
      // 3 roundings of the computation and 4 of the shorter decimal; products below 1e-308 lose half a smallest number.
      const double error =
          7 * std::numeric_limits<double>::epsilon() * scale + 2 * std::numeric_limits<double>::denorm_min();
      EXPECT_LE(std::abs(static_cast<double>(number(values[i]).value - exact)), error) << c.a << " " << i;
    }
  }
}

TEST(NumberSeries, GeometricSteps) {
  EXPECT_EQ(geometric("128", "1024", "2"), (Texts{"128", "256", "512", "1024"}));
  EXPECT_EQ(geometric("128", "1023", "2"), (Texts{"128", "256", "512"}));
  EXPECT_EQ(geometric("1", "1e6", "10"), (Texts{"1", "10", "100", "1000", "10000", "100000", "1000000"}));
  EXPECT_EQ(geometric("7", "7", "2"), (Texts{"7"}));
  EXPECT_EQ(geometric("0.01", "0.2", "1.5"),
            (Texts{"0.01", "0.015", "0.0225", "0.03375", "0.050625", "0.0759375", "0.11390625", "0.170859375"}));
  EXPECT_EQ(geometric("1e-3", "1", "10"), (Texts{"0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(geometric("1e18", "9223372036854775807", "3"), (Texts{"1e+18", "3e+18", "9e+18"}));
  EXPECT_EQ(geometric("1000000000000000000", "9223372036854775807", "3"),
            (Texts{"1000000000000000000", "3000000000000000000", "9000000000000000000"}));
}

// The end is met although r and its powers are rounded, and is written as it was given.
TEST(NumberSeries, GeometricStepsMeetTheirEnd) {
  EXPECT_EQ(geometric("1", "1.4641", "1.1"), (Texts{"1", "1.1", "1.21", "1.331", "1.4641"}));
  for (const double r : {1.1, 1.3, 1.7, 2.3, 9.9}) {
    for (int n : {1, 2, 10, 60}) {
      for (const double a : {1e-300, 0.01, 3.0, 1e200}) {
        const auto end = static_cast<double>(std::pow(static_cast<long double>(r), n) * static_cast<long double>(a));
        const WrittenNumber last{"", end, std::nullopt};
        const auto values = geometric_steps({"", a, std::nullopt}, last, {"", r, std::nullopt}, 100).value();
        ASSERT_EQ(std::ssize(values), n + 1) << a << " " << r << " " << n;
        EXPECT_EQ(values.back(), shortest_text(last));
        const auto below =
            geometric_steps({"", a, std::nullopt}, {"", end * (1 - 1e-9), std::nullopt}, {"", r, std::nullopt}, 100);
        EXPECT_EQ(std::ssize(below.value()), n) << "an end that is missed by more than rounding is not one";
      }
    }
  }
}

TEST(NumberSeries, TooManyGeometricStepsAreNotStored) {
  EXPECT_EQ(geometric_steps(number("1"), number("1e308"), number("1.0000000000000002"), 10'000), std::nullopt);
  EXPECT_EQ(geometric_steps(number("5e-324"), number("1.7976931348623157e308"), number("1.001"), 10'000), std::nullopt);
  EXPECT_EQ(geometric_steps(number("1"), number("8"), number("2"), 3), std::nullopt);
  EXPECT_EQ(geometric_steps(number("1"), number("8"), number("2"), 4)->size(), 4U);
  EXPECT_EQ(geometric_steps(number("0.1"), number("0.8"), number("2"), 3), std::nullopt);
  EXPECT_EQ(geometric_steps(number("0.1"), number("0.8"), number("2"), 4)->size(), 4U);
  EXPECT_EQ(geometric_steps(number("1e-300"), number("1e300"), number("1e10"), 100)->size(), 61U);
  EXPECT_EQ(geometric_steps(number("1.5"), number("1.7976931348623157e308"), number("2"), 10'000)->size(), 1024U);
}

}  // namespace
}  // namespace rankfall
