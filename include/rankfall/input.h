#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input_options.h>
#include <rankfall/network.h>
#include <rankfall/sample.h>

namespace rankfall {

struct Inputs {
  std::vector<Sample> samples;
  std::string source;              // for the manifest: "random, uniform", or the file's name
  std::vector<std::string> notes;  // what a person should know, e.g. how many samples were left out
};

// Samples for a network, each checked against it. Random ones depend on (seed, number, length, law) only. Throws Error:
// kUsage on impossible options, kInput on a file that cannot be read or does not fit the network.
RANKFALL_API Inputs open_inputs(const Network& network, const InputOptions& options, std::uint64_t seed);

}  // namespace rankfall
