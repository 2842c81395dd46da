#pragma once

#include <memory>

#include "engine/layer_loader.h"
#include "engine/split/split.h"
#include <rankfall/sample.h>
#include <rankfall/split.h>

namespace rankfall {

// The heads of one attention on queries, keys and values that are mean and residual apart.
//
// For each head the logits, less what is constant along a row, are z_ij = r_j + E_ij with r the logits of a reference
// query and E_ij formed from the terms that make up the difference, each with its own scale. With q = softmax(r) the
// head's output is 1 (v + q^T V) + D V, where D = P - 1 q^T is formed from E and has E's scale, not P's rounding.
class SplitHeads {
 public:
  struct Parts {
    SplitState q, k, v;      // as projected; queries and keys not yet normed
    Index reference = 0;     // a token that is no padding, the smallest
    bool centred = false;    // rows of all residuals sum to zero
    bool one_value = false;  // all heads read all columns of v
  };
  // Everything must outlive this.
  SplitHeads(const Attention& attention, const LoadedLayer<double>& layer, const Sample& sample, Parts parts,
             Jitter& jitter);
  ~SplitHeads();
  SplitHeads(const SplitHeads&) = delete;
  SplitHeads& operator=(const SplitHeads&) = delete;

  // Of one head, and of all of them side by side; not re-centred.
  SplitState output(Index head, Jitter jitter) const;
  SplitState outputs(const Jitter& jitter) const;

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

// Attention on mean and residual apart, o included; not re-centred.
SplitState split_attention(const Attention& attention, const LoadedLayer<double>& layer, const Sample& sample,
                           Jitter& jitter, const SplitState& x);

}  // namespace rankfall
