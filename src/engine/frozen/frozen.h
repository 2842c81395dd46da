#pragma once

#include "engine/frozen/frozen_domain.h"
#include <rankfall/decompose.h>
#include <rankfall/matrix.h>

namespace rankfall {

// The domain of path sums: one matrix for each origin and length (math.md 3). Attention takes length k to k + 1; what
// arises in a sub-layer joins its origin at length 0.
struct FrozenSums : PathSums {
  // A pre-norm's bias, which has no length yet: the branch makes it part of what it adds itself.
  RowVector<double> shift;
};
class Frozen : public FrozenDomain<Frozen, FrozenSums> {
 public:
  // kMerged, kByBlock: one origin for each kind, or for each kind and block. kEmbedding: what arises later is dropped.
  Frozen(Origins origins, Index n_blocks) : origins_(origins), n_blocks_(n_blocks) {}

  State start(const MatrixRef<double>& x) const;

  State norm(const Norm& norm, NormPlace place, State x) const;
  State attend(const Attention& attention, const State& x) const;
  State branch(const State& x) const;
  State sum(double fy, State y, double fx, State x) const;
  State combine(double skip, State x, double branch, State y) const;

 private:
  // Adds what arises in this block to its origin.
  void inject(Origin::Kind kind, const MatrixRef<double>& y, State& x) const;
  State nothing() const;

  Origins origins_;
  Index n_blocks_;
};

}  // namespace rankfall
