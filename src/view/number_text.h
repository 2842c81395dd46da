#pragma once

#include <string>
#include <vector>

namespace rankfall {

// `digits` significant digits: 0.612, 0.0176, 12.3, 1234; below 10^-3 and from 10^6 on with a power of ten: 6.99×10^-7.
// The whole part of a number below a million is not rounded. Sums of huge numbers may be inf or nan.
std::string significant(double value, int digits = 3);

// At most `digits` significant digits without zeros at the end: 5, 0.25, 1.47781; powers of ten as above.
std::string trimmed(double value, int digits = 6);

// The number whose logarithm to base 10 this is: 0.27, 790, and outside 10^-3..10^3 the power: 10^-7.3, 10^-4301.
std::string power_of_ten(double log10_value, int digits = 2);

// A logarithm: -0.24, -20.3, -1688.6, -190123. From kWholeLogarithms on, and with `powers` from 10^5 on, with a power
// of ten: -4.30×10^15. A column that needs powers uses them throughout. Requires a finite value.
inline constexpr double kWholeLogarithms = 1e15;
std::string logarithm(double value, bool powers = false);

// A value and its error, both to the same place: 1.72±0.05, 0.06±0.22; an error that would vanish keeps a digit:
// 1.00±0.002.
std::string with_error(double value, double error, int digits = 3);

// A whole number given by its digits: itself up to `most` of them, otherwise rounded, 2.33×10^13.
std::string digits_text(const std::string& digits, std::size_t most);

// Pads numbers so that their points (or the places where points would be) stand under each other. All get the same
// width.
void align_points(std::vector<std::string>& numbers);

// A horizontal bar of `width` columns, `fraction` of it filled; in eighths of a column with Unicode, in halves without.
// Fractions outside 0..1 are clamped.
std::string bar(double fraction, int width, bool unicode);

}  // namespace rankfall
