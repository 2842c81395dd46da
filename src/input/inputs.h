#pragma once

#include <span>
#include <string>

#include <rankfall/model.h>
#include <rankfall/sample.h>

namespace rankfall {

struct InputSize {
  Index n_samples = 0;
  Index n_tokens = 0;  // of the longest
  Index shortest = n_tokens;
};

// The options with the model's own directory for tokenizer and preprocessing, unless they name another.
InputOptions input_for(const Model& model, InputOptions options);

// What open_inputs will make of options without a file: to be asked before memory is taken for it.
InputSize random_size(const Network& network, const InputOptions& options);

// Tokens of a sample when nobody says: 128, or as many as the model has positions for.
Index default_tokens(const Network& network);
inline constexpr Index kDefaultSamples = 32;

InputSize size_of(std::span<const Sample> samples);

// "128", or "5 to 24" where samples differ in length.
std::string tokens_text(const InputSize& size);

}  // namespace rankfall
