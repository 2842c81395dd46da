#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input.h>
#include <rankfall/network.h>
#include <rankfall/process.h>
#include <rankfall/variants.h>

namespace rankfall {

struct CaptureOptions {
  std::vector<Variant> variants;  // empty: the full network
  bool attention = false;
  std::vector<Index> layers;     // empty: all; negative ones count from the end
  std::vector<Index> positions;  // empty: all; the same
  Precision precision = Precision::kF32;
  std::uint64_t seed = 0;
  InputOptions input;

  Progress progress;
};

// A tensor of the file.
struct CapturedTensor {
  std::string name;
  std::string dtype;  // F32, F64 or I64
  std::vector<Index> shape;
};

struct Captured {
  std::vector<CapturedTensor> tensors;
  std::uint64_t n_bytes = 0;
  std::vector<std::string> notes;
};

// Runs a model and writes to a safetensors file, block by block as they are made, never all of it in memory:
//   hidden_states  [states, samples, tokens, d_model]             states 0..L, or `layers` of them
//   attentions     [blocks, samples, heads, tokens, all tokens]   with `attention`: blocks 0..L-1, or those in `layers`
//   input_ids      [samples, all tokens]                          where the input is token ids
//   attention_mask [samples, all tokens]                          where samples differ in length or have padding
// `positions` selects tokens: rows of states, and of attentions (queries). Shorter samples are followed by zeros. With
// several variants the first two are called VARIANT/hidden_states, VARIANT/attentions. The file's metadata say how it
// was made. The file appears when it is complete. Throws Error.
RANKFALL_API Captured capture(const std::string& model, const std::filesystem::path& file,
                              const CaptureOptions& options);

}  // namespace rankfall
