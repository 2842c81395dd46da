#include "engine/split/split_logits.h"

#include <cmath>
#include <variant>

#include "base/errors.h"
#include "engine/dense/attention_impl.h"
#include "linalg/gemm.h"

namespace rankfall {
namespace {

ScaledRow segment(const ScaledRow& x, Index first, Index width) {
  return scaled<RowVector<double>>(x.value.segment(first, width), x.log);
}

ScaledMatrix columns(const ScaledMatrix& x, Index first, Index width) {
  return scaled<Matrix<double>>(x.value.middleCols(first, width), x.log);
}

ScaledRow plus(ScaledRow x, const VectorView<double>& y) {
  add(x, scaled<RowVector<double>>(y));
  return x;
}

// factor x y^T.
ScaledMatrix times(double factor, const ScaledMatrix& x, const ScaledMatrix& y) {
  ScaledMatrix out{Matrix<double>(x.value.rows(), y.value.rows()), x.log + y.log};
  if (out.is_zero()) {
    out.value.setZero();
  } else {
    gemm<double>(false, true, factor, x.value, y.value, 0.0, out.value);
    rescale(out);
  }
  return out;
}

ScaledMatrix as_matrix(const ScaledRow& x) { return {x.value, x.log}; }
ScaledRow as_row(ScaledMatrix x) { return scaled<RowVector<double>>(x.value.row(0), x.log); }

// k + b_j of the reference token.
ScaledRow key_at(const SplitHead& h, const Projections& p) {
  ScaledRow key = h.k;
  add(key, scaled<RowVector<double>>(h.b.value.row(p.reference), h.b.log));
  return key;
}

// (q + a_i) . (k + b_j) = row constant + q . b_j + a_i . b_j.
class ContentLogits final : public SplitLogits {
 public:
  ContentLogits(const Projections& p, const SplitHead& h) : scale_(p.attention.scale), h_(h), key_(key_at(h, p)) {}

  ScaledRow reference() const override { return as_row(times(scale_, as_matrix(h_.q), h_.b)); }
  ScaledMatrix differences(Index first, Index rows) const override {
    return times(scale_, {h_.a.value.middleRows(first, rows), h_.a.log}, h_.b);
  }
  ScaledRow origin() const override { return as_row(times(scale_, as_matrix(h_.q), as_matrix(key_))); }
  ScaledMatrix row_constants(Index first, Index rows) const override {
    return times(scale_, {h_.a.value.middleRows(first, rows), h_.a.log}, as_matrix(key_));
  }

 private:
  double scale_;
  const SplitHead& h_;
  ScaledRow key_;  // of the reference token
};

// The same, and a bias by distance.
class T5Logits final : public SplitLogits {
 public:
  T5Logits(const Projections& p, const SplitHead& h, const T5Positions&)
      : content_(p, h), bias_(p.layer.distance_bias.row(h.index)), n_(p.n()), reference_(p.reference) {}

  ScaledRow reference() const override {
    ScaledRow r = content_.reference();
    add(r, scaled<RowVector<double>>(biases(reference_)));
    return r;
  }
  ScaledMatrix differences(Index first, Index rows) const override {
    ScaledMatrix e = content_.differences(first, rows);
    ScaledMatrix part{Matrix<double>(rows, n_), 0};
    for (Index i = 0; i < rows; ++i) part.value.row(i) = biases(first + i) - biases(reference_);
    rescale(part);
    add(e, part);
    return e;
  }
  ScaledRow origin() const override {
    ScaledRow z = content_.origin();
    add(z, scaled<RowVector<double>>(biases(reference_).segment(reference_, 1)));
    return z;
  }
  ScaledMatrix row_constants(Index first, Index rows) const override {
    ScaledMatrix e = content_.row_constants(first, rows);
    ScaledMatrix part{Matrix<double>(rows, 1), 0};
    for (Index i = 0; i < rows; ++i) part.value(i, 0) = biases(first + i)(reference_) - biases(reference_)(reference_);
    rescale(part);
    add(e, part);
    return e;
  }

 private:
  // Of query i and all keys.
  RowVector<double> biases(Index i) const { return bias_.segment((bias_.size() + 1) / 2 - 1 - i, n_); }

  ContentLogits content_;
  RowVector<double> bias_;
  Index n_, reference_;
};

// (q + a_i + u) . (k + b_j) + (q + a_i + v) . r_{i-j} + (q + a_i + s) . g. Positions enter as r_m - r_0, segments as
// g_other - g_same for keys of the other segment; the rest is constant along rows.
class XlnetLogits final : public SplitLogits {
 public:
  XlnetLogits(const Projections& p, const SplitHead& h, const XlnetPositions& xlnet)
      : p_(p), h_(h), longest_((p.layer.relative_keys.rows() + 1) / 2), n_(p.n()) {
    const Index d = p.attention.d_head;
    const auto vector = [&](const TensorSlice& slice) { return p.layer.weights.vector(slice).segment(h.index * d, d); };
    const RowVector<double> u = vector(xlnet.u);
    const RowVector<double> v = vector(xlnet.v);
    query_u_ = plus(h.q, VectorView<double>(u.data(), d));
    keys_.value = p.layer.relative_keys.middleCols(h.index * d, d);
    const RowVector<double> origin = keys_.value.row(longest_ - 1);
    keys_.value.rowwise() -= origin;
    keys_.log = 0;
    rescale(keys_);
    by_distance_ = as_row(times(p.attention.scale, as_matrix(plus(h.q, VectorView<double>(v.data(), d))), keys_));
    if (p.sample.segments.empty()) return;
    const RowVector<double> s = vector(xlnet.s);
    const auto g = p.layer.weights.matrix(xlnet.segment_embedding).stored.middleCols(h.index * d, d);
    const ScaledMatrix other = scaled<Matrix<double>>(g.row(1) - g.row(0));
    segment_mean_ = times(p.attention.scale, as_matrix(plus(h.q, VectorView<double>(s.data(), d))), other);
    segment_rows_ = times(p.attention.scale, h.a, other);
  }

  ScaledRow reference() const override {
    ScaledRow r = as_row(times(p_.attention.scale, as_matrix(query_u_), h_.b));
    add(r, scaled<RowVector<double>>(distances(by_distance_.value, p_.reference), by_distance_.log));
    if (!p_.sample.segments.empty()) {
      const auto other = [&](Index j) { return p_.same_segment(p_.reference, j) ? 0 : segment_mean_.value(0, 0); };
      add(r, scaled<RowVector<double>>(RowVector<double>::NullaryExpr(n_, other), segment_mean_.log));
    }
    return r;
  }

  ScaledMatrix differences(Index first, Index rows) const override {
    const ScaledMatrix queries{h_.a.value.middleRows(first, rows), h_.a.log};
    ScaledMatrix e = times(p_.attention.scale, queries, h_.b);

    ScaledMatrix part{Matrix<double>(rows, n_), by_distance_.log};
    const RowVector<double> reference = distances(by_distance_.value, p_.reference);
    for (Index i = 0; i < rows; ++i) part.value.row(i) = distances(by_distance_.value, first + i) - reference;
    rescale(part);
    add(e, part);

    // Pair (i, j) needs row t = longest - 1 - i + j of the table: the block's rows need one run of it.
    const Index run_first = longest_ - 1 - (first + rows - 1);
    const ScaledMatrix run =
        times(p_.attention.scale, queries, {keys_.value.middleRows(run_first, n_ + rows - 1), keys_.log});
    part.log = run.log;
    for (Index i = 0; i < rows; ++i) part.value.row(i) = run.value.row(i).segment(rows - 1 - i, n_);
    rescale(part);
    add(e, part);

    if (p_.sample.segments.empty()) return e;
    const auto add_entries = [&](const auto& entry, double log) {
      add(e, scaled<Matrix<double>>(Matrix<double>::NullaryExpr(rows, n_, entry), log));
    };
    const auto of_mean = [&](Index i, Index j) { return p_.same_segment(i, j) ? 0 : segment_mean_.value(0, 0); };
    add_entries([&](Index i, Index j) { return of_mean(first + i, j) - of_mean(p_.reference, j); }, segment_mean_.log);
    add_entries([&](Index i, Index j) { return p_.same_segment(first + i, j) ? 0 : segment_rows_.value(first + i, 0); },
                segment_rows_.log);
    return e;
  }

  ScaledRow origin() const override { throw no_cap(); }
  ScaledMatrix row_constants(Index /*first*/, Index /*rows*/) const override { throw no_cap(); }

 private:
  static Error no_cap() { return usage_error("a soft cap on logits with XLNet's positions is not known"); }

  // Of query i and all keys.
  RowVector<double> distances(const RowVector<double>& table, Index i) const {
    return table.segment(longest_ - 1 - i, n_);
  }

  const Projections& p_;
  const SplitHead& h_;
  Index longest_, n_;
  ScaledRow query_u_;
  ScaledMatrix keys_;                         // r_m - r_0
  ScaledRow by_distance_;                     // (q + v) . (r_m - r_0)
  ScaledMatrix segment_mean_, segment_rows_;  // (q + s) . (g_1 - g_0), a_i . (g_1 - g_0)
};

// (T_i (q + a_i)) . (T_j (k + b_j)), T_i the turn of position i; with T_i = T_0 + (T_i - T_0), and likewise T_j, 0
// being the reference, what is constant along rows is left out.
class RotaryLogits final : public SplitLogits {
 public:
  RotaryLogits(const Projections& p, const SplitHead& h) : scale_(p.attention.scale), a_(h.a), b_(h.b) {
    p.rotary->turn(a_.value);
    p.rotary->turn(b_.value);
    const auto at_reference = [&](const ScaledRow& x) {
      Matrix<double> turned = x.value.replicate(p.reference + 1, 1);
      p.rotary->turn(turned);
      return scaled<RowVector<double>>(turned.row(p.reference), x.log);
    };
    query_ = at_reference(h.q);
    key_ = at_reference(key_at(h, p));
    const auto less_reference = [&](const ScaledRow& x) {
      return scaled<Matrix<double>>(p.rotary->turns_less(x.value, p.n(), p.reference), x.log);
    };
    q_ = less_reference(h.q);
    k_ = less_reference(h.k);
  }

  ScaledRow reference() const override {
    ScaledRow r = as_row(times(scale_, as_matrix(query_), k_));
    add(r, as_row(times(scale_, as_matrix(query_), b_)));
    return r;
  }
  ScaledMatrix differences(Index first, Index rows) const override {
    const ScaledMatrix a{a_.value.middleRows(first, rows), a_.log};
    const ScaledMatrix q{q_.value.middleRows(first, rows), q_.log};
    ScaledMatrix e = times(scale_, a, b_);
    add(e, times(scale_, q, k_));
    add(e, times(scale_, a, k_));
    add(e, times(scale_, q, b_));
    return e;
  }
  ScaledRow origin() const override { return as_row(times(scale_, as_matrix(query_), as_matrix(key_))); }
  ScaledMatrix row_constants(Index first, Index rows) const override {
    ScaledMatrix e = times(scale_, {a_.value.middleRows(first, rows), a_.log}, as_matrix(key_));
    add(e, times(scale_, {q_.value.middleRows(first, rows), q_.log}, as_matrix(key_)));
    return e;
  }

 private:
  double scale_;
  ScaledMatrix a_, b_;     // turned
  ScaledMatrix q_, k_;     // mean, turned, less the same turned to the reference's position
  ScaledRow query_, key_;  // of the reference token, turned
};

// A bias that grows with the key's place: the same for every query, but for what is constant along its row.
class AlibiLogits final : public SplitLogits {
 public:
  AlibiLogits(const Projections& p, const SplitHead& h, const AlibiPositions& alibi)
      : content_(p, h),
        slope_(alibi.slope(h.index) * (alibi.before_scale ? p.attention.scale : 1)),
        n_(p.n()),
        reference_(p.reference) {}

  ScaledRow reference() const override {
    ScaledRow r = content_.reference();
    const auto bias = [&](Index j) { return slope_ * static_cast<double>(j - reference_); };
    add(r, scaled<RowVector<double>>(RowVector<double>::NullaryExpr(n_, bias)));
    return r;
  }
  ScaledMatrix differences(Index first, Index rows) const override { return content_.differences(first, rows); }
  ScaledRow origin() const override { return content_.origin(); }
  ScaledMatrix row_constants(Index first, Index rows) const override {
    ScaledMatrix e = content_.row_constants(first, rows);
    const auto bias = [&](Index i, Index) { return slope_ * static_cast<double>(reference_ - first - i); };
    add(e, scaled<Matrix<double>>(Matrix<double>::NullaryExpr(rows, 1, bias)));
    return e;
  }

 private:
  ContentLogits content_;
  double slope_;
  Index n_, reference_;
};

// c tanh(z / c) of logits z_ij = z + r_j + e_i + E_ij, where z is the reference's own, and r and E are zero at its key.
// With T = tanh, u_j = T((z + r_j) / c), u = T(z / c), w_i = T(e_i / c) and the addition theorem of T
//   T((z + r_j + e_i + E_ij) / c) - u_j - (T((z + e_i) / c) - u)
//     = t (1 - v^2) / (1 + v t) - w_i (u_j - u) (u_j + u + w_i (1 + u_j u)) / ((1 + u_j w_i) (1 + u w_i)),
// t = T(E_ij / c), v = T((z + r_j + e_i) / c): what is small is a factor, and no near numbers are subtracted.
class CappedLogits final : public SplitLogits {
 public:
  CappedLogits(std::unique_ptr<SplitLogits> inner, const Projections& p)
      : inner_(std::move(inner)), cap_(p.attention.soft_cap), reference_(p.reference) {
    z_ = plain(inner_->origin())(0);
    u_ = std::tanh(z_ / cap_);
    r_ = inner_->reference();
    r_.value.array() -= r_.value(reference_);
    rescale(r_);
    difference_ = r_;  // (u_j - u) / r_j times r_j
    const double size = share(r_.log, 0);
    for (Index j = 0; j < r_.value.size(); ++j) {
      difference_.value(j) *= tanh_growth(z_ / cap_, size * r_.value(j) / cap_) / cap_;
    }
    rescale(difference_);
  }

  ScaledRow reference() const override {
    ScaledRow r = difference_;
    r.value *= cap_;
    rescale(r);
    return r;
  }

  ScaledMatrix differences(Index first, Index rows) const override {
    ScaledMatrix e = inner_->differences(first, rows);
    const RowVector<double> at_key = e.value.col(reference_).transpose();
    e.value.colwise() -= at_key.transpose();
    rescale(e);
    const ScaledMatrix constants = inner_->row_constants(first, rows);
    const RowVector<double> row = plain(constants).transpose();
    const RowVector<double> key = plain(r_);
    const RowVector<double> moved = plain(difference_);  // u_j - u
    const double size = share(e.log, 0);
    ScaledMatrix crossed{Matrix<double>::Zero(rows, e.value.cols()), constants.log + difference_.log};
    ScaledMatrix jumps{Matrix<double>::Zero(rows, e.value.cols()), r_.log};  // the same where tanh is one to rounding
    for (Index i = 0; i < rows; ++i) {
      const double w = std::tanh(row(i) / cap_);
      const double w_share = constants.value(i, 0) * tanh_ratio(row(i) / cap_) / cap_;  // w in units of its scale
      for (Index j = 0; j < e.value.cols(); ++j) {
        const double u = u_ + moved(j);
        const double at = (z_ + key(j) + row(i)) / cap_;
        const double x = size * e.value(i, j) / cap_;
        e.value(i, j) *= tanh_growth(at, x);
        if (std::min(1 + u * w, 1 + u_ * w) > 1e-3) {
          crossed.value(i, j) =
              -cap_ * w_share * difference_.value(j) * (u + u_ + w * (1 + u * u_)) / ((1 + u * w) * (1 + u_ * w));
        } else {  // rows far from the origin: the difference is no smaller than its terms
          const double x_key = key(j) / cap_;
          jumps.value(i, j) = r_.value(j) * (tanh_growth((z_ + row(i)) / cap_, x_key) - tanh_growth(z_ / cap_, x_key));
        }
      }
    }
    rescale(e);
    rescale(crossed);
    add(e, crossed);
    rescale(jumps);
    add(e, jumps);
    return e;
  }
  ScaledRow origin() const override { return scaled<RowVector<double>>(RowVector<double>::Constant(1, cap_ * u_)); }
  ScaledMatrix row_constants(Index first, Index rows) const override { return inner_->row_constants(first, rows); }

 private:
  // tanh(x) / x.
  static double tanh_ratio(double x) { return std::abs(x) < 1e-8 ? 1.0 : std::tanh(x) / x; }
  // (tanh(a + x) - tanh(a)) / x = sinh(x) / x / (cosh(a) cosh(a + x)), for arguments of any size.
  static double tanh_growth(double a, double x) {
    const double size = std::abs(x);
    const double ratio = size < 1e-300 ? 1 : -std::expm1(-2 * size) / (2 * size);
    const auto half_cosh = [](double y) { return 1 + std::exp(-2 * std::abs(y)); };  // cosh(y) 2 e^-|y|
    return 4 * ratio * std::exp(size - std::abs(a) - std::abs(a + x)) / (half_cosh(a) * half_cosh(a + x));
  }

  std::unique_ptr<SplitLogits> inner_;
  double cap_;
  Index reference_;
  double z_, u_;
  ScaledRow r_, difference_;
};

// What GaussianWeights take off, scale |k + b_j|^2 / 2: constant, scale k . b_j, scale |b_j|^2 / 2. The same for every
// query, and turning by rotary positions changes lengths by its magnitude only.
class GaussianLogits final : public SplitLogits {
 public:
  GaussianLogits(std::unique_ptr<SplitLogits> products, const Projections& p, const SplitHead& h)
      : products_(std::move(products)), scale_(p.attention.scale), k_(h.k), b_(h.b) {
    if (p.rotary->magnitude() == 1) return;
    k_.value.head(p.rotary->channels()) *= p.rotary->magnitude();
    b_.value.leftCols(p.rotary->channels()) *= p.rotary->magnitude();
  }

  ScaledRow reference() const override {
    ScaledRow r = products_->reference();
    add(r, as_row(times(-scale_, as_matrix(k_), b_)));
    add(r, scaled<RowVector<double>>(-scale_ / 2 * b_.value.rowwise().squaredNorm().transpose(), 2 * b_.log));
    return r;
  }
  ScaledMatrix differences(Index first, Index rows) const override { return products_->differences(first, rows); }
  ScaledRow origin() const override { return products_->origin(); }
  ScaledMatrix row_constants(Index first, Index rows) const override { return products_->row_constants(first, rows); }

 private:
  std::unique_ptr<SplitLogits> products_;
  double scale_;
  ScaledRow k_;
  ScaledMatrix b_;
};

}  // namespace

SplitHead head_of(const Projections& p, Index head) {
  const Index d = p.attention.d_head;
  const Index kv_head = head * p.attention.n_kv_heads / p.attention.n_heads;
  SplitHead h{head,
              segment(p.q.mean, head * d, d),
              segment(p.k.mean, kv_head * d, d),
              columns(p.q.residual, head * d, d),
              columns(p.k.residual, kv_head * d, d),
              {},
              {}};
  const Index v_first = p.one_value ? 0 : kv_head * d;
  const Index v_width = p.one_value ? p.v.mean.value.size() : d;
  h.v = columns(p.v.residual, v_first, v_width);
  h.v_mean = segment(p.v.mean, v_first, v_width);
  const RowVector<double> reference = h.a.value.row(p.reference);
  h.a.value.rowwise() -= reference;
  add(h.q, scaled<RowVector<double>>(reference, h.a.log));
  if (!p.centred) {  // keys about that token, too: the rest is constant along rows
    const RowVector<double> key = h.b.value.row(p.reference);
    for (Index j = 0; j < p.n(); ++j) {
      if (p.is_valid(j)) h.b.value.row(j) -= key;
    }
    add(h.k, scaled<RowVector<double>>(key, h.b.log));
  }
  return h;
}

std::unique_ptr<SplitLogits> split_logits(const Projections& p, const SplitHead& head) {
  const auto make = [&]<class P>(const P& positions) -> std::unique_ptr<SplitLogits> {
    if constexpr (std::is_same_v<P, NoPositions>) return std::make_unique<ContentLogits>(p, head);
    if constexpr (std::is_same_v<P, T5Positions>) return std::make_unique<T5Logits>(p, head, positions);
    if constexpr (std::is_same_v<P, XlnetPositions>) return std::make_unique<XlnetLogits>(p, head, positions);
    if constexpr (std::is_same_v<P, RotaryPositions>) return std::make_unique<RotaryLogits>(p, head);
    if constexpr (std::is_same_v<P, AlibiPositions>) return std::make_unique<AlibiLogits>(p, head, positions);
  };
  auto logits = std::visit(make, p.attention.positions);
  if (p.attention.soft_cap > 0) logits = std::make_unique<CappedLogits>(std::move(logits), p);
  if (!std::holds_alternative<GaussianWeights>(p.attention.weights)) return logits;
  return std::make_unique<GaussianLogits>(std::move(logits), p, head);
}

}  // namespace rankfall
