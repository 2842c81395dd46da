#pragma once

#include <optional>
#include <string_view>

#include <rankfall/matrix.h>
#include <rankfall/network.h>

namespace rankfall {

// x := act(x), entry by entry.
template <class T>
void activate(Activation act, MutableMatrixRef<T> x);

// The activation a config.json names (gelu, gelu_new, relu, ...), or nothing.
std::optional<Activation> activation_named(std::string_view name);

}  // namespace rankfall
