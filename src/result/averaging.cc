#include "result/averaging.h"

namespace rankfall {

Averaging averaging_of(std::string_view metric) {
  return metric.starts_with("log10_") ? Averaging::kLogarithms : Averaging::kArithmetic;
}

std::string_view words_of(Averaging averaging) {
  return averaging == Averaging::kLogarithms ? "mean of the logarithms" : "arithmetic mean";
}

}  // namespace rankfall
