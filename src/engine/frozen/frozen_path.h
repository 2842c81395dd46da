#pragma once

#include <optional>
#include <span>

#include "engine/frozen/frozen_domain.h"
#include <rankfall/matrix.h>

namespace rankfall {

// The domain of a single path: at each attention it takes one head or the skip.
class FrozenPath : public FrozenDomain<FrozenPath, CentredMatrix> {
 public:
  FrozenPath(Origin origin, std::span<const std::uint8_t> valid) : origin_(origin), valid_(valid) {}

  void enter_branch(Index branch) {
    FrozenDomain::enter_branch(branch);
    shift_ = {};
  }
  // Of the attention that is entered next; absent: the skip.
  void choose(std::optional<Index> head) { head_ = head; }

  State norm(const Norm& norm, NormPlace place, State x);
  State attend(const Attention& attention, const State& x) const;
  State branch(const State& /*x*/) const {
    return begins_here(Origin::Kind::kMlp) ? centred(output(), valid_) : State{};
  }
  State sum(double fx, State x, double fy, State y) const;
  State combine(double skip, State x, double branch, State y) const;

 private:
  // Whether the path begins with what arises in this sub-layer.
  bool begins_here(Origin::Kind kind) const { return origin_.kind == kind && origin_.block == layer().block; }

  Origin origin_;
  std::span<const std::uint8_t> valid_;
  std::optional<Index> head_;
  RowVector<double> shift_;  // of the pre-norm
};

// One sub-layer along the path, through `head` where it is attention and a head is given; or the final norm, if the
// layer is one. x is what the path has become so far.
CentredMatrix path_step(const Origin& origin, std::span<const std::uint8_t> valid, const FrozenLayer& f,
                        std::optional<Index> head, CentredMatrix x);

// Whether a path may choose among the heads of this sub-layer: it is attention, and lies behind the origin.
bool is_choice(const Origin& origin, const FrozenLayer& f);

// The origins that may arise in a sub-layer or final norm; a block's biases may have arisen before in the block.
std::vector<Origin> new_origins(const FrozenLayer& f);

}  // namespace rankfall
