#pragma once

#include <memory>

#include "engine/dense/attention.h"
#include "engine/layer_loader.h"
#include "engine/split/scaled.h"
#include <rankfall/sample.h>

// The logits of attention on mean and residual apart: z_ij = const_i + r_j + E_ij, r those of a reference query.

namespace rankfall {

// What the heads of one sample share.
struct Projections {
  const Attention& attention;
  const LoadedLayer<double>& layer;
  const Sample& sample;
  SplitState q, k, v;                         // k, v: [n, n_kv_heads * d_head]
  Index reference = 0;                        // a token that is no padding, the smallest
  bool same_keys = false;                     // every query sees the same keys: all that are no padding
  bool centred = false;                       // rows of residuals sum to zero
  bool one_value = false;                     // all heads read all columns of v
  const HeadScores<double>* whole = nullptr;  // plain logits, where mean and residual are not apart
  SeenKeys keys = {};
  const Rotary<double>* rotary = nullptr;

  Index n() const { return v.residual.value.rows(); }
  bool is_valid(Index i) const { return sample.valid.empty() || sample.valid[static_cast<std::size_t>(i)] != 0; }
  bool sees(Index i, Index j) const { return is_valid(j) && keys.allows(i, j); }
  bool same_segment(Index i, Index j) const {
    return sample.segments[static_cast<std::size_t>(i)] == sample.segments[static_cast<std::size_t>(j)];
  }
};

// One head: query i is q + a_i, key j is k + b_j, value j is v's mean + v_j. q is the query of the reference, a token
// rather than the mean of all: where residuals are large, tokens may all attend alike and the mean of them otherwise.
struct SplitHead {
  Index index = 0;
  ScaledRow q, k;
  ScaledMatrix a, b, v;
  ScaledRow v_mean;
};

SplitHead head_of(const Projections& p, Index head);

// By position scheme. p and head must outlive it; const and thread-safe.
class SplitLogits {
 public:
  SplitLogits() = default;
  SplitLogits(const SplitLogits&) = delete;
  SplitLogits& operator=(const SplitLogits&) = delete;
  virtual ~SplitLogits() = default;

  // r and the rows first.. of E, both without what is constant along a row, and with arbitrary entries for padding.
  virtual ScaledRow reference() const = 0;
  virtual ScaledMatrix differences(Index first, Index rows) const = 0;
  // What is constant along rows, for a soft cap, which needs it: the logit of the reference token's query and key, and,
  // in one column, rows first.. of the difference of other queries' logits of that key to it.
  virtual ScaledRow origin() const = 0;
  virtual ScaledMatrix row_constants(Index first, Index rows) const = 0;
};
std::unique_ptr<SplitLogits> split_logits(const Projections& p, const SplitHead& head);

}  // namespace rankfall
