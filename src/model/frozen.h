#pragma once

#include "model/frozen_layer.h"
#include "model/step.h"
#include <rankfall/decompose.h>
#include <rankfall/matrix.h>

namespace rankfall {

// The domain of path sums: one matrix for each origin and length (math.md 3). Attention takes length k to k + 1; what
// arises in a sub-layer joins its origin at length 0.
class Frozen {
 public:
  struct State : PathSums {
    // A pre-norm's bias, which has no length yet: the branch makes it part of what it adds itself.
    RowVector<double> shift;
  };
  using Layer = FrozenLayer;

  // kMerged, kByBlock: one origin for each kind, or for each kind and block. kEmbedding: what arises later is dropped.
  Frozen(Origins origins, Index n_blocks) : origins_(origins), n_blocks_(n_blocks) {}

  State start(const MatrixRef<double>& x) const;

  void enter(const FrozenLayer& layer) { layer_ = &layer; }
  State norm(const Norm& norm, NormPlace place, State x) const;
  State apply(const Attention& attention, const State& x) const;
  State apply(const Mlp& mlp, const State& x) const;
  State apply(const Elementwise& elementwise, const State& x) const;
  State combine(double skip, State x, double branch, State y) const;
  void hidden(Index /*state*/, const State& /*x*/) const {}

 private:
  // Adds what arises in this block to its origin.
  void inject(Origin::Kind kind, const MatrixRef<double>& y, State& x) const;
  State nothing() const;

  Origins origins_;
  Index n_blocks_;
  const FrozenLayer* layer_ = nullptr;
};

}  // namespace rankfall
