#pragma once

#include <string_view>

#include <rankfall/metric_info.h>

namespace rankfall {

inline Averaging averaging_of(std::string_view metric) { return metric_info(metric).averaging; }

}  // namespace rankfall
