#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input.h>
#include <rankfall/matrix.h>
#include <rankfall/network.h>

namespace rankfall {

// Real features, one row a token; go through the network's input map.
struct Features {
  Matrix<double> values;
};

// An image: one row a channel, its pixels row by row, already scaled and normalised.
struct Pixels {
  Matrix<double> values;
  Index n_tokens = 0;  // what the network makes of it: PatchInput::n_tokens()
};

// The state that enters block 0, given directly; the input map is not run.
struct HiddenState {
  Matrix<double> values;
};

// One input sequence.
struct Sample {
  std::variant<TokenIds, Features, Pixels, HiddenState> content;
  // 1 for a real token, 0 for padding; empty: all real. Padding is not attended to and takes part in no statistic.
  std::vector<std::uint8_t> valid = {};
  // Segment of each token; empty: segment 0 for all, and for XLNet no segment term.
  std::vector<std::int32_t> segments = {};

  RANKFALL_API Index n_tokens() const;
};

// Random inputs for a network: token ids, or standard normal features or pixels (an image has as many tokens as the
// network makes of it, whatever n_tokens says). Sample i depends on (seed, i, n_tokens, law) only. Throws Error(kUsage)
// when the network cannot take n_tokens tokens.
RANKFALL_API std::vector<Sample> random_samples(const Network& network, std::uint64_t seed, Index n_samples,
                                                Index n_tokens, TokenLaw law = TokenLaw::kUniform);

// Throws Error(kUsage) unless the network can take the sample: kind of input, ids in range, length, shapes.
RANKFALL_API void check_sample(const Network& network, const Sample& sample);

struct Inputs {
  std::vector<Sample> samples;
  std::string source;              // for the manifest: "random, uniform", or the file's name
  std::vector<std::string> notes;  // what a person should know, e.g. how many samples were left out
};

// Samples for a network, each checked against it. Random ones depend on (seed, number, length, law) only. Throws Error:
// kUsage on impossible options, kInput on a file that cannot be read or does not fit the network.
RANKFALL_API Inputs open_inputs(const Network& network, const InputOptions& options, std::uint64_t seed);

}  // namespace rankfall
