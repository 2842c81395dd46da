#pragma once

#include <rankfall/input.h>

namespace rankfall {

// Samples from InputOptions::text. Of a sample at most kMaxSampleBytes are tokenised.
Inputs text_inputs(const Network& network, const InputOptions& options);

inline constexpr std::size_t kMaxSampleBytes = std::size_t{1} << 20;

}  // namespace rankfall
