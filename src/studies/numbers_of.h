#pragma once

#include <string>
#include <vector>

namespace rankfall {

// A number that models differ in, as in checkpoint-100 and checkpoint-2000; nothing if they differ in more.
std::vector<double> numbers_of(const std::vector<std::string>& models);

}  // namespace rankfall
