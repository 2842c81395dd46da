#pragma once

#include <optional>
#include <span>

#include "model/frozen_layer.h"
#include "model/step.h"
#include <rankfall/matrix.h>

namespace rankfall {

// The domain of a single path: at each attention it takes one head or the skip. A state without rows is zero: the path
// has not begun, or it cannot go this way.
class FrozenPath {
 public:
  using State = CentredMatrix;
  using Layer = FrozenLayer;

  FrozenPath(Origin origin, std::span<const std::uint8_t> valid) : origin_(origin), valid_(valid) {}

  // Of the attention that is entered next; absent: the skip.
  void choose(std::optional<Index> head) { head_ = head; }

  void enter(const FrozenLayer& layer) { layer_ = &layer; }
  State norm(const Norm& norm, NormPlace place, State x);
  State apply(const Attention& attention, const State& x);
  State apply(const Mlp& /*mlp*/, const State& /*x*/) { return mlp_output(); }
  State apply(const Elementwise& /*elementwise*/, const State& /*x*/) { return mlp_output(); }
  State combine(double skip, State x, double branch, State y) const;
  void hidden(Index /*state*/, const State& /*x*/) const {}

 private:
  // Whether the path begins with what arises in this sub-layer.
  bool begins_here(Origin::Kind kind) const { return origin_.kind == kind && origin_.block == layer_->block; }
  State mlp_output() const { return begins_here(Origin::Kind::kMlp) ? centred(layer_->branch, valid_) : State{}; }

  Origin origin_;
  std::span<const std::uint8_t> valid_;
  std::optional<Index> head_;
  const FrozenLayer* layer_ = nullptr;
  RowVector<double> shift_;  // of the pre-norm
};

// One sub-layer along the path, through `head` where it is attention and a head is given; or the final norm, if the
// layer is one. x is what the path has become so far.
CentredMatrix path_step(const Origin& origin, std::span<const std::uint8_t> valid, const FrozenLayer& f,
                        const std::optional<Norm>& final_norm, std::optional<Index> head, CentredMatrix x);

// Whether a path may choose among the heads of this sub-layer: it is attention, and lies behind the origin.
bool is_choice(const Origin& origin, const FrozenLayer& f);

// The origins that may arise in a sub-layer or final norm; a block's biases may have arisen before in the block.
std::vector<Origin> new_origins(const FrozenLayer& f);

}  // namespace rankfall
