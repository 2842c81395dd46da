#include "engine/split/split_logits.h"

#include <variant>

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

// (q + a_i) . (k + b_j) = row constant + q . b_j + a_i . b_j.
class ContentLogits final : public SplitLogits {
 public:
  ContentLogits(const Projections& p, const SplitHead& h, const NoPositions&) : scale_(p.attention.scale), h_(h) {}

  ScaledRow reference() const override { return as_row(times(scale_, as_matrix(h_.q), h_.b)); }
  ScaledMatrix differences(Index first, Index rows) const override {
    return times(scale_, {h_.a.value.middleRows(first, rows), h_.a.log}, h_.b);
  }

 private:
  double scale_;
  const SplitHead& h_;
};

// The same, and a bias by distance.
class T5Logits final : public SplitLogits {
 public:
  T5Logits(const Projections& p, const SplitHead& h, const T5Positions&)
      : content_(p, h, NoPositions{}), bias_(p.layer.distance_bias.row(h.index)), n_(p.n()), reference_(p.reference) {}

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

 private:
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
  RotaryLogits(const Projections& p, const SplitHead& h, const RotaryPositions&)
      : scale_(p.attention.scale), a_(h.a), b_(h.b) {
    const Index d = p.attention.d_head;
    rotate_heads(p.layer, d, a_.value);
    rotate_heads(p.layer, d, b_.value);
    Matrix<double> turned = h.q.value.replicate(p.reference + 1, 1);
    rotate_heads(p.layer, d, turned);
    query_ = scaled<RowVector<double>>(turned.row(p.reference), h.q.log);
    // Differences of the tables first: they are exact where angles are close.
    const auto less_reference = [&](const ScaledRow& x) {
      const Index half = d / 2;
      const RowVector<double> x1 = x.value.head(half);
      const RowVector<double> x2 = x.value.tail(half);
      ScaledMatrix out{Matrix<double>(p.n(), d), x.log};
      for (Index i = 0; i < p.n(); ++i) {
        const RowVector<double> c = p.layer.rotary_cos.row(i) - p.layer.rotary_cos.row(p.reference);
        const RowVector<double> s = p.layer.rotary_sin.row(i) - p.layer.rotary_sin.row(p.reference);
        out.value.row(i).head(half) = x1.cwiseProduct(c) - x2.cwiseProduct(s);
        out.value.row(i).tail(half) = x2.cwiseProduct(c) + x1.cwiseProduct(s);
      }
      rescale(out);
      return out;
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

 private:
  double scale_;
  ScaledMatrix a_, b_;  // turned
  ScaledMatrix q_, k_;  // mean, turned, less the same turned to the reference's position
  ScaledRow query_;
};

// What GaussianWeights take off, scale |k + b_j|^2 / 2: constant, scale k . b_j, scale |b_j|^2 / 2. The same for every
// query, and turning by rotary positions leaves lengths as they are.
class GaussianLogits final : public SplitLogits {
 public:
  GaussianLogits(std::unique_ptr<SplitLogits> products, const Projections& p, const SplitHead& h)
      : products_(std::move(products)), scale_(p.attention.scale), h_(h) {}

  ScaledRow reference() const override {
    ScaledRow r = products_->reference();
    add(r, as_row(times(-scale_, as_matrix(h_.k), h_.b)));
    add(r, scaled<RowVector<double>>(-scale_ / 2 * h_.b.value.rowwise().squaredNorm().transpose(), 2 * h_.b.log));
    return r;
  }
  ScaledMatrix differences(Index first, Index rows) const override { return products_->differences(first, rows); }

 private:
  std::unique_ptr<SplitLogits> products_;
  double scale_;
  const SplitHead& h_;
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
              columns(p.v.residual, kv_head * d, d)};
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
    if constexpr (std::is_same_v<P, NoPositions>) return std::make_unique<ContentLogits>(p, head, positions);
    if constexpr (std::is_same_v<P, T5Positions>) return std::make_unique<T5Logits>(p, head, positions);
    if constexpr (std::is_same_v<P, XlnetPositions>) return std::make_unique<XlnetLogits>(p, head, positions);
    if constexpr (std::is_same_v<P, RotaryPositions>) return std::make_unique<RotaryLogits>(p, head, positions);
  };
  auto logits = std::visit(make, p.attention.positions);
  if (!std::holds_alternative<GaussianWeights>(p.attention.weights)) return logits;
  return std::make_unique<GaussianLogits>(std::move(logits), p, head);
}

}  // namespace rankfall
