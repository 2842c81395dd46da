#pragma once

#include <utility>

#include "engine/frozen/frozen_layer.h"
#include "engine/step.h"

namespace rankfall {

// The common part of the domains that take terms of a state through frozen sub-layers. D has norm and combine as every
// domain, and attend(attention, x) and branch(x): what x becomes in an attention, and in a function that is no
// attention, which freezes to a constant.
template <class D, class S>
class FrozenDomain {
 public:
  using State = S;
  using Layer = FrozenLayer;

  void enter(const FrozenLayer& layer) { layer_ = &layer; }
  void enter_branch(Index branch) { branch_ = branch; }
  State apply(const Attention& attention, const State& x) { return self().attend(attention, x); }
  State apply(const Mlp& /*mlp*/, const State& x) { return self().branch(x); }
  State apply(const Elementwise& /*elementwise*/, const State& x) { return self().branch(x); }
  void hidden(Index /*state*/, const State& /*x*/) const {}

  // One sub-layer, or the final norm.
  State advance(const FrozenLayer& f, State x) {
    enter(f);
    return f.layer ? step(self(), *f.layer, std::move(x)) : self().norm(*f.final_norm, NormPlace::kFinal, std::move(x));
  }

 protected:
  const FrozenLayer& layer() const { return *layer_; }
  FrozenNorm frozen(const Norm& norm, NormPlace place) const { return {*layer_, norm, place, branch_}; }
  // Of the branch that is entered, which is no attention.
  const Matrix<double>& output() const { return layer_->branches[static_cast<std::size_t>(branch_)].output; }

 private:
  friend D;
  FrozenDomain() = default;
  D& self() { return static_cast<D&>(*this); }

  const FrozenLayer* layer_ = nullptr;
  Index branch_ = 0;
};

// A term without rows is zero: it has not begun, or cannot go this way.
inline bool is_zero(const Matrix<double>& term) { return term.rows() == 0; }
inline bool is_zero(const CentredMatrix& term) { return term.residual.rows() == 0; }

inline void scale(double factor, Matrix<double>& term) {
  if (factor != 1) term *= factor;
}
inline void scale(double factor, CentredMatrix& term) {
  if (factor == 1) return;
  term.mean *= factor;
  term.residual *= factor;
}

// sum := sum + term.
inline void add_to(Matrix<double>& sum, Matrix<double> term) {
  if (is_zero(sum)) {
    sum = std::move(term);
  } else {
    sum += term;
  }
}
inline void add_to(CentredMatrix& sum, CentredMatrix term) {
  if (is_zero(sum)) {
    sum = std::move(term);
  } else if (!is_zero(term)) {
    sum.mean += term.mean;
    sum.residual += term.residual;
  }
}

}  // namespace rankfall
