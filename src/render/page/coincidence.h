#pragma once

#include <set>
#include <string>
#include <vector>

#include "view/view.h"

// Curves that lie on each other: the reader is told, and the one below is drawn wider.

namespace rankfall {

// Series that another one covers in some panel.
std::set<std::string> covered_series(const Figure& figure);

// Sentences that name the curves of a figure that coincide.
std::vector<std::string> coincidences(const Figure& figure);

}  // namespace rankfall
