#include "model/split_attention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "model/attention_impl.h"
#include "model/dense.h"
#include "model/scaled.h"
#include "model/split.h"

namespace rankfall {
namespace {

// (e^y - 1) / y.
double expm1_ratio(double y) { return std::abs(y) < 1e-9 ? 1 + 0.5 * y : std::expm1(y) / y; }

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

// What the heads of one sample share.
struct Projections {
  const Attention& attention;
  const LoadedLayer<double>& layer;
  const Sample& sample;
  SplitState q, k, v;                         // k, v: [n, n_kv_heads * d_head]
  Index reference = 0;                        // a token that is no padding, the smallest
  bool same_keys = false;                     // every query sees the same keys: all that are no padding
  bool centred = false;                       // rows of residuals sum to zero
  const HeadScores<double>* whole = nullptr;  // plain logits, where mean and residual are not apart

  Index n() const { return v.residual.value.rows(); }
  bool is_valid(Index i) const { return sample.valid.empty() || sample.valid[static_cast<std::size_t>(i)] != 0; }
  bool sees(Index i, Index j) const { return is_valid(j) && attention.mask.allows(i, j); }
  bool same_segment(Index i, Index j) const {
    return sample.segments[static_cast<std::size_t>(i)] == sample.segments[static_cast<std::size_t>(j)];
  }
};

// One head: query i is q + a_i, key j is k + b_j, value j is v's mean + v_j. q is the query of the reference, a token
// rather than the mean of all: where residuals are large, tokens may all attend alike and the mean of them otherwise.
struct Head {
  Index index = 0;
  ScaledRow q, k;
  ScaledMatrix a, b, v;
};

Head head_of(const Projections& p, Index head) {
  const Index d = p.attention.d_head;
  const Index kv_head = head * p.attention.n_kv_heads / p.attention.n_heads;
  Head h{head,
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

// Logits, by position scheme: reference() is r, differences(first, rows) the rows first.. of E, both without what is
// constant along a row and with arbitrary entries for padding. Each is made once per head.

// (q + a_i) . (k + b_j) = row constant + q . b_j + a_i . b_j.
class ContentLogits {
 public:
  ContentLogits(const Projections& p, const Head& h, const NoPositions&) : scale_(p.attention.scale), h_(h) {}

  ScaledRow reference() const { return as_row(times(scale_, as_matrix(h_.q), h_.b)); }
  ScaledMatrix differences(Index first, Index rows) const {
    return times(scale_, {h_.a.value.middleRows(first, rows), h_.a.log}, h_.b);
  }

 private:
  double scale_;
  const Head& h_;
};

// The same, and a bias by distance.
class T5Logits {
 public:
  T5Logits(const Projections& p, const Head& h, const T5Positions&)
      : content_(p, h, NoPositions{}), bias_(p.layer.distance_bias.row(h.index)), n_(p.n()), reference_(p.reference) {}

  ScaledRow reference() const {
    ScaledRow r = content_.reference();
    add(r, scaled<RowVector<double>>(biases(reference_)));
    return r;
  }
  ScaledMatrix differences(Index first, Index rows) const {
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
class XlnetLogits {
 public:
  XlnetLogits(const Projections& p, const Head& h, const XlnetPositions& xlnet)
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

  ScaledRow reference() const {
    ScaledRow r = as_row(times(p_.attention.scale, as_matrix(query_u_), h_.b));
    add(r, scaled<RowVector<double>>(distances(by_distance_.value, p_.reference), by_distance_.log));
    if (!p_.sample.segments.empty()) {
      RowVector<double> other(n_);
      for (Index j = 0; j < n_; ++j) other(j) = p_.same_segment(p_.reference, j) ? 0 : segment_mean_.value(0, 0);
      add(r, scaled<RowVector<double>>(std::move(other), segment_mean_.log));
    }
    return r;
  }

  ScaledMatrix differences(Index first, Index rows) const {
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
    part.log = segment_mean_.log;
    const double mean = segment_mean_.value(0, 0);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < n_; ++j) {
        part.value(i, j) = (p_.same_segment(first + i, j) ? 0 : mean) - (p_.same_segment(p_.reference, j) ? 0 : mean);
      }
    }
    rescale(part);
    add(e, part);
    part.log = segment_rows_.log;
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < n_; ++j) {
        part.value(i, j) = p_.same_segment(first + i, j) ? 0 : segment_rows_.value(first + i, 0);
      }
    }
    rescale(part);
    add(e, part);
    return e;
  }

 private:
  // Of query i and all keys.
  RowVector<double> distances(const RowVector<double>& table, Index i) const {
    return table.segment(longest_ - 1 - i, n_);
  }

  const Projections& p_;
  const Head& h_;
  Index longest_, n_;
  ScaledRow query_u_;
  ScaledMatrix keys_;                         // r_m - r_0
  ScaledRow by_distance_;                     // (q + v) . (r_m - r_0)
  ScaledMatrix segment_mean_, segment_rows_;  // (q + s) . (g_1 - g_0), a_i . (g_1 - g_0)
};

// (T_i (q + a_i)) . (T_j (k + b_j)), T_i the turn of position i; with T_i = T_0 + (T_i - T_0), and likewise T_j, 0
// being the reference, what is constant along rows is left out.
class RotaryLogits {
 public:
  RotaryLogits(const Projections& p, const Head& h, const RotaryPositions&)
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

  ScaledRow reference() const {
    ScaledRow r = as_row(times(scale_, as_matrix(query_), k_));
    add(r, as_row(times(scale_, as_matrix(query_), b_)));
    return r;
  }
  ScaledMatrix differences(Index first, Index rows) const {
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

// q = softmax(r) over the keys that are no padding, and how it acts.
struct Reference {
  RowVector<double> r, q;
  Index peak = 0;          // j*, where q is largest
  RowVector<double> rest;  // q_j e^-log_rest for j != j*, 0 there: right even where q_j underflows
  double log_rest = 0;
};

Reference reference_of(const Projections& p, const RowVector<double>& r) {
  const Index n = r.size();
  Reference out;
  out.r = r;
  out.peak = -1;
  for (Index j = 0; j < n; ++j) {
    if (p.is_valid(j) && (out.peak < 0 || r(j) > r(out.peak))) out.peak = j;
  }
  out.peak = std::max<Index>(out.peak, 0);
  double second = kLogZero;
  out.q = RowVector<double>::Zero(n);
  for (Index j = 0; j < n; ++j) {
    if (!p.is_valid(j)) continue;
    out.q(j) = std::exp(r(j) - r(out.peak));
    if (j != out.peak) second = std::max(second, r(j));
  }
  const double sum = out.q.sum();
  if (sum > 0) out.q /= sum;
  out.rest = RowVector<double>::Zero(n);
  if (second == kLogZero) return out;
  for (Index j = 0; j < n; ++j) {
    if (p.is_valid(j) && j != out.peak) out.rest(j) = std::exp(r(j) - second);
  }
  out.log_rest = second - r(out.peak) - std::log(sum);
  return out;
}

// q^T V. Where the rows of V sum to zero it is (q - 1/n)^T V, which keeps its digits when r is small.
ScaledRow mean_of_values(const Projections& p, const ScaledRow& r, const Reference& reference, const ScaledMatrix& v) {
  const Index n = r.value.size();
  const double size = share(r.log, 0);
  RowVector<double> weights = reference.q;
  double log = 0;
  if (p.centred && 2 * size <= 0.5) {  // |r| < 2 size
    double sum = 0;
    double count = 0;
    for (Index j = 0; j < n; ++j) {
      weights(j) = p.is_valid(j) ? r.value(j) * expm1_ratio(size * r.value(j)) : 0.0;
      sum += weights(j);
      count += p.is_valid(j) ? 1 : 0;
    }
    const double mean = sum / count;
    for (Index j = 0; j < n; ++j) {
      if (p.is_valid(j)) weights(j) = (weights(j) - mean) / (count * (1 + size * mean));
    }
    log = r.log;
  }
  return scaled<RowVector<double>>(weights * v.value, log + v.log);
}

// Rows of D without column j*, whose part is in the differences V_j - V_j* that D is multiplied by.
class Deviations {
 public:
  Deviations(const Projections& p, Index head, const Reference& reference) : p_(p), head_(head), q_(reference) {}

  // From rows first.. of E.
  ScaledMatrix from(Index first, ScaledMatrix e) const {
    for (Index i = 0; i < e.value.rows(); ++i) {
      const double peak = e.value(i, q_.peak);
      for (Index j = 0; j < e.value.cols(); ++j) e.value(i, j) = p_.is_valid(j) ? e.value(i, j) - peak : 0.0;
      if (!p_.is_valid(first + i)) e.value.row(i).setZero();
    }
    rescale(e);
    const double size = share(e.log, 0);
    if (p_.same_keys && 2 * size <= 0.5) {
      for (Index i = 0; i < e.value.rows(); ++i) small_row(size, e.value.row(i));
      e.log += q_.log_rest;
      return e;
    }
    Matrix<double> whole;
    if (p_.whole) {
      whole.resize(e.value.rows(), e.value.cols());
      p_.whole->logits(head_, first, whole);
    }
    // Rows have their own scales.
    std::vector<double> logs(static_cast<std::size_t>(e.value.rows()), kLogZero);
    for (Index i = 0; i < e.value.rows(); ++i) {
      if (!p_.is_valid(first + i)) continue;
      logs[static_cast<std::size_t>(i)] =
          large_row(first + i, size, p_.whole ? whole.row(i).data() : nullptr, e.value.row(i));
    }
    e.log = *std::ranges::max_element(logs);
    for (Index i = 0; i < e.value.rows(); ++i) {
      const double log = logs[static_cast<std::size_t>(i)];
      if (log != e.log) e.value.row(i) *= share(log, e.log);
    }
    return e;
  }

 private:
  using MatrixRow = Eigen::Ref<RowVector<double>>;

  // D_j = q_j (em_j - m) / (1 + m), m = sum_j q_j em_j, where em = (e^(size E) - 1) / size.
  void small_row(double size, MatrixRow row) const {
    for (Index j = 0; j < row.size(); ++j) row(j) *= expm1_ratio(size * row(j));
    const double m = std::exp(q_.log_rest) * q_.rest.dot(row);
    const double divisor = 1 + size * m;
    for (Index j = 0; j < row.size(); ++j) row(j) = q_.rest(j) * (row(j) - m) / divisor;
  }

  // The same where differences are not small, keys that are not seen having e^E = 0. From two softmaxes where e^E could
  // leave the range of double, where the peak is not seen, and where the row differs from q altogether, so that nothing
  // cancels. Returns the logarithm of the row's scale.
  double large_row(Index i, double size, const double* whole, MatrixRow row) const {
    constexpr double kLargest = 30;
    constexpr double kAltogether = 0.1;
    row *= size;
    const bool sees_peak = p_.sees(i, q_.peak);
    bool direct = !sees_peak;
    for (Index j = 0; j < row.size(); ++j) direct |= row(j) > kLargest && p_.sees(i, j);
    if (direct) return direct_row(i, sees_peak, whole, row);
    RowVector<double> em(row.size());
    double m = 0;
    double sum = 0;
    double change = 0;
    for (Index j = 0; j < row.size(); ++j) {
      em(j) = p_.sees(i, j) ? std::expm1(row(j)) : -1.0;
      m += q_.rest(j) * em(j);
      sum += q_.rest(j) * (1 + em(j));
      change += q_.rest(j) * std::abs(em(j));
    }
    const double rest = std::exp(q_.log_rest);
    if (whole && rest * change > kAltogether) return direct_row(i, sees_peak, whole, row);
    const double divisor = q_.q(q_.peak) + rest * sum;
    for (Index j = 0; j < row.size(); ++j) row(j) = q_.rest(j) * (em(j) - rest * m) / divisor;
    return q_.log_rest;
  }

  // P - q, both in units of the largest entry of either outside the peak. Logits are the whole ones where there are
  // any.
  double direct_row(Index i, bool sees_peak, const double* whole, MatrixRow row) const {
    double largest = kLogZero;
    for (Index j = 0; j < row.size(); ++j) {
      row(j) = !p_.sees(i, j) ? kLogZero : whole ? whole[j] : row(j) + q_.r(j);
      largest = std::max(largest, row(j));
    }
    double sum = 0;
    double unit = sees_peak ? q_.log_rest : 0;
    for (Index j = 0; j < row.size(); ++j) {
      row(j) -= largest;
      sum += std::exp(row(j));
      if (j != q_.peak) unit = std::max(unit, row(j));
    }
    if (unit > -300) unit = 0;
    const double rest = share(q_.log_rest, unit);
    for (Index j = 0; j < row.size(); ++j) row(j) = std::exp(row(j) - unit) / sum - rest * q_.rest(j);
    row(q_.peak) = 0;
    return unit;
  }

  const Projections& p_;
  Index head_;
  const Reference& q_;
};

// Padding out, the rest about its mean: a constant changes no softmax.
void centre(const Projections& p, ScaledRow& r) {
  double sum = 0;
  double count = 0;
  for (Index j = 0; j < r.value.size(); ++j) {
    if (!p.is_valid(j)) continue;
    sum += r.value(j);
    ++count;
  }
  for (Index j = 0; j < r.value.size(); ++j) r.value(j) = p.is_valid(j) ? r.value(j) - sum / count : 0.0;
  rescale(r);
}

struct HeadOutput {
  ScaledRow mean;
  std::vector<ScaledMatrix> blocks;  // of kQueryRows rows, each with its own scale
};

template <class Logits, class Kind>
HeadOutput head_output(const Projections& p, Index index, const Kind& positions) {
  const Head head = head_of(p, index);
  const Logits logits(p, head, positions);
  ScaledRow r = logits.reference();
  centre(p, r);
  const Reference reference = reference_of(p, plain(r));
  const Index d = p.attention.d_head;
  const Index kv_head = index * p.attention.n_kv_heads / p.attention.n_heads;
  HeadOutput out{segment(p.v.mean, kv_head * d, d), {}};
  add(out.mean, mean_of_values(p, r, reference, head.v));

  const RowVector<double> peak = head.v.value.row(reference.peak);
  const Matrix<double> values = head.v.value.rowwise() - peak;
  const Deviations deviations(p, index, reference);
  for (Index first = 0; first < p.n(); first += kQueryRows) {
    const ScaledMatrix dev = deviations.from(first, logits.differences(first, std::min(kQueryRows, p.n() - first)));
    ScaledMatrix block{Matrix<double>(dev.value.rows(), d), dev.log + head.v.log};
    gemm<double>(false, false, 1.0, dev.value, values, 0.0, block.value);
    rescale(block);
    out.blocks.push_back(std::move(block));
  }
  return out;
}

HeadOutput head_output(const Projections& p, Index index) {
  const auto visit = [&](const auto& positions) {
    using Kind = std::decay_t<decltype(positions)>;
    using Logits = std::conditional_t<
        std::is_same_v<Kind, NoPositions>, ContentLogits,
        std::conditional_t<std::is_same_v<Kind, T5Positions>, T5Logits,
                           std::conditional_t<std::is_same_v<Kind, XlnetPositions>, XlnetLogits, RotaryLogits>>>;
    return head_output<Logits>(p, index, positions);
  };
  return std::visit(visit, p.attention.positions);
}

// Heads side by side, at the scale of the largest.
SplitState side_by_side(const std::vector<HeadOutput>& heads, Index n, Index d) {
  const Index width = static_cast<Index>(heads.size()) * d;
  SplitState out{{RowVector<double>(width), kLogZero}, {Matrix<double>(n, width), kLogZero}};
  for (const HeadOutput& head : heads) {
    out.mean.log = std::max(out.mean.log, head.mean.log);
    for (const ScaledMatrix& block : head.blocks) out.residual.log = std::max(out.residual.log, block.log);
  }
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Index column = static_cast<Index>(h) * d;
    out.mean.value.segment(column, d) = share(heads[h].mean.log, out.mean.log) * heads[h].mean.value;
    Index row = 0;
    for (const ScaledMatrix& block : heads[h].blocks) {
      out.residual.value.block(row, column, block.value.rows(), d) = share(block.log, out.residual.log) * block.value;
      row += block.value.rows();
    }
  }
  return out;
}

}  // namespace

SplitState split_attention(const Attention& attention, const LoadedLayer<double>& layer, const Sample& sample,
                           Jitter& jitter, const SplitState& x) {
  const auto project = [&](const Linear& f) {
    SplitState out = linear(x, layer.weights.matrix(f.w), layer.weights.vector(f.b));
    jitter(out);
    return out;
  };
  Projections p{attention, layer, sample, project(attention.q), project(attention.k), project(attention.v)};
  p.reference = smallest_row(x.residual.value, sample.valid);
  p.centred = !x.mean.is_zero();
  Index first = 0;
  Index last = p.n() - 1;
  while (first < last && !p.is_valid(first)) ++first;
  while (last > first && !p.is_valid(last)) --last;
  const Mask& mask = attention.mask;
  p.same_keys = !mask.causal && (mask.window == 0 || last - std::max(first, mask.global) <= mask.window);
  Matrix<double> queries;
  Matrix<double> keys;
  std::optional<HeadScores<double>> whole;
  if (!p.centred) {
    queries = joined(p.q);
    keys = joined(p.k);
    if (std::holds_alternative<RotaryPositions>(attention.positions)) {
      rotate_heads(layer, attention.d_head, queries);
      rotate_heads(layer, attention.d_head, keys);
    }
    p.whole = &whole.emplace(attention, layer, queries, keys, sample.valid, sample.segments);
  }
  std::vector<HeadOutput> heads(static_cast<std::size_t>(attention.n_heads));
  parallel_for(attention.n_heads, [&](Index head) { heads[static_cast<std::size_t>(head)] = head_output(p, head); });
  SplitState mixed = side_by_side(heads, p.n(), attention.d_head);
  jitter(mixed);
  return linear(mixed, layer.weights.matrix(attention.o.w), layer.weights.vector(attention.o.b));
}

}  // namespace rankfall
