#pragma once

#include <rankfall/sample.h>

namespace rankfall {

// Samples from InputOptions::text.
Inputs text_inputs(const Network& network, const InputOptions& options);

}  // namespace rankfall
