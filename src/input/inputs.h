#pragma once

#include <span>

#include <rankfall/input.h>

namespace rankfall {

struct InputSize {
  Index n_samples = 0;
  Index n_tokens = 0;  // of the longest
};

// What open_inputs will make of options without a file: to be asked before memory is taken for it.
InputSize random_size(const Network& network, const InputOptions& options);

InputSize size_of(std::span<const Sample> samples);

}  // namespace rankfall
