#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/sample.h>

namespace rankfall {

// Where samples come from: one of the files, or random numbers. Files are safetensors, npy or JSON (docs/formats.md).
struct InputOptions {
  // Unset: all samples of a file, 32 random ones.
  std::optional<Index> n_samples;
  // Set: samples of a file are cut to this length, and shorter ones are left out. Unset: whole samples of a file; 128
  // random tokens, or as many as the model has positions for.
  std::optional<Index> n_tokens;
  TokenLaw token_law = TokenLaw::kUniform;  // of random token ids

  std::string ids;     // token ids `input_ids`, with `attention_mask` (0: padding) and `token_type_ids` where present
  std::string hidden;  // states that enter block 0, `hidden_states`
  std::string pixels;  // images, scaled and normalised, `pixel_values`

  bool from_file() const { return !ids.empty() || !hidden.empty() || !pixels.empty(); }
};

struct Inputs {
  std::vector<Sample> samples;
  std::string source;              // for the manifest: "random, uniform", or the file's name
  std::vector<std::string> notes;  // what a person should know, e.g. how many samples were left out
};

// Samples for a network, each checked against it. Random ones depend on (seed, number, length, law) only. Throws Error:
// kUsage on impossible options, kInput on a file that cannot be read or does not fit the network.
RANKFALL_API Inputs open_inputs(const Network& network, const InputOptions& options, std::uint64_t seed);

}  // namespace rankfall
