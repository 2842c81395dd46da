#pragma once

#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input.h>
#include <rankfall/network.h>
#include <rankfall/process.h>
#include <rankfall/result.h>

namespace rankfall {

struct ParityOptions {
  // Safetensors with hidden_states [L+1, samples, tokens, d_model] and, where present, attentions [L, samples, heads,
  // tokens, tokens]; VARIANT/ in front of the names for variants. Empty: expected.safetensors in the model's directory.
  std::string reference;
  // Without a file: input.safetensors or hidden.safetensors in the model's directory. The first samples are used, as
  // many as the reference has.
  InputOptions input;
  std::vector<Precision> precisions = {Precision::kF64, Precision::kF32};

  Progress progress;
};

// How far rankfall's states and attentions are from those of another implementation. Rows by model, variant and
// precision (`kind`): parity.hidden.max, parity.hidden.median, parity.attention.max and parity.attention.median of
// |ours - reference| over all entries, as a share of the largest entry of the same matrix (a sample's state, a head's
// attention) of the reference; medians to 1.1 %; `n` is the number of entries. Padding is left out. With several
// variants there are rows of variant `all`.
RANKFALL_API Result parity(std::span<const std::string> models, const ParityOptions& options);

}  // namespace rankfall
