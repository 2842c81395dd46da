#pragma once

#include <rankfall/input.h>

namespace rankfall {

// Samples from InputOptions::text.
Inputs text_inputs(const Network& network, const InputOptions& options);

}  // namespace rankfall
