#pragma once

#include <string_view>

namespace rankfall {

// How the rows of a metric make one value of several samples or seeds. The two are never equal where samples differ:
// the mean of logarithms is the logarithm of the geometric mean, which is the smaller one.
enum class Averaging { kArithmetic, kLogarithms };

Averaging averaging_of(std::string_view metric);

// "arithmetic mean", "mean of the logarithms".
std::string_view words_of(Averaging averaging);

}  // namespace rankfall
