#include "engine/frozen/frozen_path.h"

namespace rankfall {

CentredMatrix FrozenPath::norm(const Norm& norm, NormPlace place, State x) {
  const FrozenNorm f = frozen(norm, place);
  if (!is_zero(x)) x = norm_linear(f, valid_, std::move(x));
  if (!begins_here(Origin::Kind::kBias)) return x;
  const RowVector<double> shift = norm_shift(f);
  if (place == NormPlace::kPre) {
    shift_ = shift;
  } else if (shift.size() > 0) {
    if (is_zero(x)) {
      x.mean.setZero(shift.size());
      x.residual.setZero(f.scales.size(), shift.size());
    }
    x.mean += shift;
  }
  return x;
}

CentredMatrix FrozenPath::attend(const Attention& attention, const State& x) const {
  if (begins_here(Origin::Kind::kBias)) {
    const Matrix<double> constant = attention_constant(layer(), attention, shift_);
    return constant.rows() > 0 ? centred(constant, valid_) : State{};
  }
  if (!head_ || is_zero(x)) return {};
  return head_linear(layer(), attention, *head_, valid_, x);
}

CentredMatrix FrozenPath::sum(double fx, State x, double fy, State y) const {
  scale(fx, x);
  scale(fy, y);
  add_to(x, std::move(y));
  return x;
}

CentredMatrix FrozenPath::combine(double skip, State x, double branch, State y) const {
  scale(branch, y);
  // A head instead of the skip, or what begins here, to which nothing but its own beginning is added.
  if (head_ || skip == 0 || is_zero(x)) return y;
  scale(skip, x);
  add_to(x, std::move(y));
  return x;
}

CentredMatrix path_step(const Origin& origin, std::span<const std::uint8_t> valid, const FrozenLayer& f,
                        std::optional<Index> head, CentredMatrix x) {
  FrozenPath domain(origin, valid);
  domain.choose(head);
  return domain.advance(f, std::move(x));
}

bool is_choice(const Origin& origin, const FrozenLayer& f) {
  return f.layer && f.layer->attention() && (origin.kind == Origin::Kind::kEmbedding || *origin.block < f.block);
}

std::vector<Origin> new_origins(const FrozenLayer& f) {
  const Origin bias{Origin::Kind::kBias, f.block};
  const bool has_mlp = f.layer && (f.layer->with<Mlp>() || f.layer->with<Elementwise>());
  if (!has_mlp) return {bias};
  return {{Origin::Kind::kMlp, f.block}, bias};
}

Matrix<double> CentredMatrix::joined() const {
  Matrix<double> out = residual;
  if (out.rows() > 0) out.rowwise() += mean;
  return out;
}

}  // namespace rankfall
