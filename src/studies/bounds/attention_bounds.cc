#include "studies/bounds/attention_bounds.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "engine/dense/attention_impl.h"
#include "engine/split/scaled.h"
#include "engine/split/split_softmax.h"
#include "linalg/attention_measures.h"
#include "linalg/gemm.h"
#include "linalg/linear.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include "linalg/spectra.h"

namespace rankfall {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double log_of(double x) { return x == 0 ? kLogZero : std::log(x); }

// log(e^x - 1) of x = e^log_x.
double log_expm1(double log_x) {
  if (log_x < -30) return log_x;
  const double x = std::exp(log_x);
  return x > 30 ? x : std::log(std::expm1(x));
}

// log of (e^x - 1)/x, and of 4 tanh(x/4)/x; both are 1 at 0.
double log_growth(double log_x) { return log_x < -30 ? 0 : log_expm1(log_x) - log_x; }
double log_tanh_share(double log_x) { return log_x < -15 ? 0 : std::log(4 * std::tanh(std::exp(log_x) / 4)) - log_x; }

// log tanh(x) of x = e^log_x.
double log_tanh(double log_x) { return log_x < -15 ? log_x : std::log(std::tanh(std::exp(log_x))); }

// P = 1 q^T + D, and E, of one head; rows and columns of what is no padding.
struct HeadMatrices {
  ScaledMatrix e;       // without what is constant along a row
  RowVector<double> q;  // softmax(r)
  ScaledMatrix d;
  bool same_keys = true;
};

class HeadLogits {
 public:
  HeadLogits(const LoadedLayer<double>& layer, const Sample& sample, const SplitState& in, const CentredState& x)
      : a_(*layer.layer->attention()), layer_(layer), sample_(sample), x_(x) {
    content_ = beside_products(a_) == Reason::kNone;
    const SeenKeys keys(a_.mask, in.residual.value.rows());
    for (const Index i : x.rows) {
      for (const Index j : x.rows) same_keys_ &= keys.allows(i, j);
    }
    if (content_ && same_keys_) {
      const VectorView<double> none(nullptr, 0);
      q_ = linear<double>(x.r.value, layer.weights.matrix(a_.q.w), none);
      k_ = linear<double>(x.r.value, layer.weights.matrix(a_.k.w), none);
      const auto of_mean = [&](const Linear& f) {
        const Matrix<double> y = linear<double>(x.mean.value, layer.weights.matrix(f.w), none);
        ScaledRow out = scaled<RowVector<double>>(y.row(0), x.mean.log);
        if (const auto bias = layer.weights.vector(f.b); bias.size() > 0) add(out, scaled<RowVector<double>>(bias));
        return out;
      };
      query_ = of_mean(a_.q);
      if (std::holds_alternative<GaussianWeights>(a_.weights)) key_ = of_mean(a_.k);
      return;
    }
    // Plain logits: they differ by their own size.
    const Matrix<double> whole = joined(in);
    q_ = linear<double>(whole, layer.weights.matrix(a_.q.w), layer.weights.vector(a_.q.b));
    k_ = linear<double>(whole, layer.weights.matrix(a_.k.w), layer.weights.vector(a_.k.b));
    norm_heads(a_.q_norm, layer.weights, a_.d_head, q_);
    norm_heads(a_.k_norm, layer.weights, a_.d_head, k_);
    const Rotary<double> rotary(a_, layer, q_.rows());
    rotary.turn(q_);
    rotary.turn(k_);
  }

  bool same_keys() const { return same_keys_; }

  HeadMatrices matrices(Index head) const {
    if (content_ && same_keys_) return content(head);
    const HeadScores<double> scores(a_, layer_, q_, k_, sample_.valid, sample_.segments);
    Matrix<double> whole(q_.rows(), k_.rows());
    if (same_keys_) {
      scores.logits(head, 0, whole);
    } else {
      scores.probabilities(head, 0, whole);
    }
    Matrix<double> z = whole(x_.rows, x_.rows);
    HeadMatrices out;
    out.same_keys = same_keys_;
    if (!same_keys_) {  // about the mean of the rows
      out.q = z.colwise().mean();
      z.rowwise() -= out.q;
      Index peak = 0;
      out.q.maxCoeff(&peak);
      close_rows(z, peak);
      out.d = scaled<Matrix<double>>(z);
      return out;
    }
    z.colwise() -= z.rowwise().mean().eval();
    const RowVector<double> r = z.colwise().mean();
    out.q = softmax_row(r);
    out.e = scaled<Matrix<double>>(z.rowwise() - r);
    out.d = whole_deviations(out.e, out.q, r);
    return out;
  }

 private:
  // E = R W_QK R^T, r from the mean query. GaussianWeights take scale |k_j|^2 / 2 off, of which scale k . b_j and
  // scale |b_j|^2 / 2 belong to r, k being the mean key: E and whatever follows from it stay as they are.
  HeadMatrices content(Index head) const {
    const Index kv_head = head * a_.n_kv_heads / a_.n_heads;
    const auto b = k_.middleCols(kv_head * a_.d_head, a_.d_head);
    HeadMatrices out;
    const auto q = q_.middleCols(head * a_.d_head, a_.d_head);
    out.e = scaled<Matrix<double>>(product<double>(false, true, q, b, a_.scale), 2 * x_.r.log);
    const RowVector<double> query = query_.value.segment(head * a_.d_head, a_.d_head);
    ScaledRow r = scaled<RowVector<double>>(a_.scale * query * b.transpose(), query_.log + x_.r.log);
    if (std::holds_alternative<GaussianWeights>(a_.weights)) {
      const RowVector<double> key = key_.value.segment(kv_head * a_.d_head, a_.d_head);
      add(r, scaled<RowVector<double>>(-a_.scale * key * b.transpose(), key_.log + x_.r.log));
      add(r, scaled<RowVector<double>>(-a_.scale / 2 * b.rowwise().squaredNorm().transpose(), 2 * x_.r.log));
    }
    out.q = softmax_row(plain(r));
    out.d = whole_deviations(out.e, out.q, plain(r));
    return out;
  }

  const Attention& a_;
  const LoadedLayer<double>& layer_;
  const Sample& sample_;
  const CentredState& x_;
  bool content_ = true;
  bool same_keys_ = true;
  Matrix<double> q_, k_;   // of R where logits are content only, otherwise of X
  ScaledRow query_, key_;  // of the mean; the key of GaussianWeights only
};

// Largest over pairs of rows of f(row i, row k).
double over_pairs(const Matrix<double>& m, const auto& f) {
  std::vector<double> largest(static_cast<std::size_t>(m.rows()), 0.0);
  parallel_for(m.rows(), [&](Index i) {
    double& most = largest[static_cast<std::size_t>(i)];
    for (Index k = 0; k < i; ++k) most = std::max(most, f(m.row(i), m.row(k)));
  });
  return largest.empty() ? 0 : *std::ranges::max_element(largest);
}

// How much any two tokens must attend alike where no logit exceeds `limit` in size.
class SharedKeys {
 public:
  SharedKeys(const Mask& mask, Index n, const std::vector<Index>& rows) {
    const SeenKeys keys(mask, n);
    std::vector<Index> seen_by(rows.size(), 0);
    for (const Index i : rows) {
      Index n_seen = 0;
      for (std::size_t j = 0; j < rows.size(); ++j) {
        const bool sees = keys.allows(i, rows[j]);
        n_seen += sees;
        seen_by[j] += sees;
      }
      most_ = std::max(most_, n_seen);
    }
    common_ = std::ranges::count(seen_by, std::ssize(rows));
    is_complete_ = common_ == std::ssize(rows);
  }

  // A key has at least the weight e^-limit / (e^-limit + (m - 1) e^limit) in a row of m keys, so any two rows share
  // that of every key that all see. Where all see all, tanh(range/4) with a range of 4 limits is smaller.
  double log_dobrushin(double limit) const {
    const double small = std::exp(-2 * limit);
    if (is_complete_) return std::log1p(-2 * small / (1 + small));
    return std::log1p(-static_cast<double>(common_) * small / (small + static_cast<double>(most_ - 1)));
  }

 private:
  Index most_ = 0, common_ = 0;
  bool is_complete_ = false;
};

// Everything of one head that the bounds need.
struct HeadParts {
  HeadFigures figures;
  std::vector<double> log_eps;  // by row
  double log_range = kLogZero;  // the largest of all rows
  double log_dobrushin = 0, log_tanh = 0;
  RowVector<double> t;       // q^T |R W|, at R's scale
  RowVector<double> spread;  // of R W by column, at R's scale
  ScaledMatrix m;            // D R W
  FrozenHead frozen;
};

double log_norm(const ScaledMatrix& m, double norm) { return norm == 0 ? kLogZero : m.log + std::log(norm); }

HeadParts parts_of(const HeadMatrices& h, const CentredState& x, const Matrix<double>& values,
                   const Matrix<double>& output) {
  HeadParts out;
  const Matrix<double>& e = h.e.value;
  out.figures.range = h.same_keys ? 0 : kInfinity;
  for (Index i = 0; i < x.n() && h.same_keys; ++i) {
    const double log = h.e.log + log_of(e.row(i).maxCoeff() - e.row(i).minCoeff());
    out.log_range = std::max(out.log_range, log);
    out.log_eps.push_back(log == kLogZero ? kLogZero : log_expm1(log));
  }
  if (h.same_keys) out.figures.range = std::exp(out.log_range);
  out.figures.gamma = std::sqrt(static_cast<double>(x.n()) * h.q.maxCoeff());
  out.log_dobrushin =
      h.d.log +
      log_of(over_pairs(h.d.value, [](const auto& a, const auto& b) { return (a - b).cwiseAbs().sum() / 2; }));
  out.figures.dobrushin = std::exp(out.log_dobrushin);
  if (h.same_keys) {
    const double pairs =
        over_pairs(e, [](const auto& a, const auto& b) { return (a - b).maxCoeff() - (a - b).minCoeff(); });
    const double log = h.e.log + log_of(pairs / 4);
    out.log_tanh = log == kLogZero ? kLogZero : log_tanh(log);
  }
  const Matrix<double> rw = product<double>(false, false, values, output);
  out.t = h.q * rw.cwiseAbs();
  out.spread = rw.colwise().maxCoeff() - rw.colwise().minCoeff();
  out.frozen.log_values = log_norm(x.r, norms<double>(rw).frobenius);
  out.frozen.mixing = h.d;
  out.frozen.mixing.value.rowwise() -= h.d.value.colwise().mean().eval();  // J D = J D J = J P J
  rescale(out.frozen.mixing);
  if (!out.frozen.mixing.is_zero()) {
    out.frozen.log_mixing = out.frozen.mixing.log + log_of(spectral_norm(out.frozen.mixing.value));
  }
  if (x.n() <= kMostSharpened) {
    const Matrix<double> p = plain(h.d).rowwise() + h.q;
    out.frozen.norm = spectral_norm(p);
  }
  // Rows of D sum to zero: values about the key that D is formed about would do as well.
  Index peak = 0;
  h.q.maxCoeff(&peak);
  const Matrix<double> about = rw.rowwise() - RowVector<double>(rw.row(peak));
  out.m = scaled<Matrix<double>>(product<double>(false, false, h.d.value, about), h.d.log + x.r.log);
  return out;
}

}  // namespace

Reason beside_products(const Attention& a) {
  if (!std::holds_alternative<NoPositions>(a.positions)) return Reason::kPositions;
  if (a.q_norm || a.k_norm) return Reason::kHeadNorm;
  return a.soft_cap > 0 ? Reason::kSoftCap : Reason::kNone;
}

AttentionBounds attention_bounds(const LoadedLayer<double>& layer, const WeightNorms& norms_of, const Sample& sample,
                                 const SplitState& in) {
  const Attention& a = *layer.layer->attention();
  const CentredState x = centred_state(in, sample.valid);
  const HeadLogits heads(layer, sample, in, x);
  const Matrix<double> all_values =
      linear<double>(x.r.value, layer.weights.matrix(a.v.w), VectorView<double>(nullptr, 0));
  const WeightView<double> o = layer.weights.matrix(a.o.w);
  const Matrix<double> output = o.transposed ? Matrix<double>(o.stored) : Matrix<double>(o.stored.transpose());
  std::vector<HeadParts> parts(static_cast<std::size_t>(a.n_heads));
  parallel_for(a.n_heads, [&](Index h) {
    const Index kv_head = h * a.n_kv_heads / a.n_heads;
    parts[static_cast<std::size_t>(h)] =
        parts_of(heads.matrices(h), x, all_values.middleCols(kv_head * a.d_head, a.d_head),
                 output.middleRows(h * a.d_head, a.d_head));
  });

  AttentionBounds out;
  const Norms input = norms<double>(x.r.value);
  const double log_input = log_norm(x.r, input.composite());
  const double log_input_f = log_norm(x.r, input.frobenius);
  const RowVector<double> input_spread = x.r.value.colwise().maxCoeff() - x.r.value.colwise().minCoeff();
  double range = 0;
  ScaledMatrix m{Matrix<double>::Zero(x.n(), output.cols()), kLogZero};
  for (HeadParts& part : parts) {
    out.heads.push_back(part.figures);
    range = std::max(range, part.figures.range);
    add(m, part.m);
    out.frozen.push_back(std::move(part.frozen));
  }
  // Why a bound does not apply.
  const Reason content = heads.same_keys() ? beside_products(a) : Reason::kDifferentKeys;
  const Reason keys = content == Reason::kDifferentKeys ? content : Reason::kNone;
  const auto within = [&](double r, double largest) {
    return content != Reason::kNone ? content : r > largest ? Reason::kLogitRange : Reason::kNone;
  };

  const auto add_one = [&](std::string name, std::optional<Index> head, double measured, double bound, double entering,
                           Reason fails, bool is_proved) -> Inequality& {
    const bool is_a_priori = name == "T2.2" || name == "T2.3" || name == "dobrushin_weights";
    return out.inequalities.emplace_back(Inequality{.name = std::move(name),
                                                    .head = head,
                                                    .log_measured = measured,
                                                    .log_bound = bound,
                                                    .log_input = entering,
                                                    .log_allowed = bound,
                                                    .fails = fails,
                                                    .is_proved = is_proved,
                                                    .is_a_priori = is_a_priori});
  };
  const double log_scale = std::log(4 * std::abs(a.scale));
  const Norms measured = norms<double>(m.value);
  const double log_measured = log_norm(m, measured.composite());
  const SharedKeys shared_keys(a.mask, in.residual.value.rows(), x.rows);
  double log_one = kLogZero;  // of the sums in T2.2_proved
  double log_inf = kLogZero;
  for (std::size_t h = 0; h < parts.size(); ++h) {
    const HeadWeightNorms& w = norms_of.heads[h];
    const HeadParts& part = parts[h];
    const auto index = static_cast<Index>(h);
    add_one("T2.2", index, log_norm(part.m, norms<double>(part.m.value).composite()),
            log_scale + log_of(w.beta()) + 3 * log_input, log_input, within(part.figures.range, kProvedRange), true);
    if (heads.same_keys()) {
      add_one("dobrushin_tanh", index, part.log_dobrushin, part.log_tanh, 0, Reason::kNone, true);
    }
    if (w.logit_limit) {
      add_one("dobrushin_weights", index, part.log_dobrushin, shared_keys.log_dobrushin(*w.logit_limit), 0,
              Reason::kNone, true);
    }
    log_one = log_sum(log_one, std::log(2.0) + log_growth(part.log_range) + log_of(w.qk_one) + log_of(w.w_one));
    log_inf = log_sum(log_inf, log_tanh_share(part.log_range) + log_of(w.qk_one) + log_of(w.w_inf));
  }
  const double log_star = (log_one + log_inf) / 2;
  out.beta_star = std::exp(log_star);
  const double n_heads = static_cast<double>(a.n_heads);
  add_one("T2.3", {}, log_measured, log_scale + log_of(norms_of.beta() * n_heads) + 3 * log_input, log_input,
          within(range, kLargestRange), false);
  add_one("T2.2_proved", {}, log_measured, log_of(std::abs(a.scale)) + log_star + 3 * log_input, log_input, content,
          true);

  out.residual = m;
  out.residual.value.rowwise() -= m.value.colwise().mean().eval();
  rescale(out.residual);

  // certified: the sums over rows of eps, at a common scale.
  double log_certified_f = kInfinity;
  if (heads.same_keys()) {
    double top = kLogZero;
    for (const HeadParts& part : parts) top = std::max(top, *std::ranges::max_element(part.log_eps));
    RowVector<double> by_column = RowVector<double>::Zero(output.cols());
    std::vector<double> by_row(static_cast<std::size_t>(x.n()), 0.0);
    Matrix<double> entries = Matrix<double>::Zero(x.n(), output.cols());
    for (const HeadParts& part : parts) {
      const double t = part.t.sum();
      for (Index i = 0; i < x.n(); ++i) {
        const double eps = share(part.log_eps[static_cast<std::size_t>(i)], top);
        by_column += eps * part.t;
        by_row[static_cast<std::size_t>(i)] += eps * t;
        entries.row(i) += eps * part.t;
      }
    }
    const double common = top + x.r.log;
    const double log_product = log_of(by_column.maxCoeff()) + log_of(*std::ranges::max_element(by_row));
    add_one("certified", {}, log_measured, common + log_product / 2, log_input, Reason::kNone, true);
    log_certified_f = common + log_of(norms<double>(entries).frobenius);
    ScaledMatrix centred = m;
    centred.value.rowwise() -= m.value.colwise().mean().eval();
    add_one("certified_frobenius", {}, log_norm(m, norms<double>(centred.value).frobenius), log_certified_f,
            log_input_f, Reason::kNone, true);
  } else {
    add_one("certified", {}, log_measured, kInfinity, log_input, keys, true);
  }

  // Dobrushin: column by column; the tightest column counts.
  double top = kLogZero;
  for (const HeadParts& part : parts) top = std::max(top, part.log_dobrushin);
  RowVector<double> bound = RowVector<double>::Zero(output.cols());
  for (const HeadParts& part : parts) bound += share(part.log_dobrushin, top) * part.spread;
  const RowVector<double> spread = m.value.colwise().maxCoeff() - m.value.colwise().minCoeff();
  Index worst = 0;
  double worst_ratio = -1;
  for (Index j = 0; j < spread.size(); ++j) {
    const double ratio = bound(j) == 0 ? 0 : spread(j) / bound(j);
    if (ratio > worst_ratio) {
      worst_ratio = ratio;
      worst = j;
    }
  }
  const double log_bound = top == kLogZero || x.r.is_zero() ? kLogZero : top + x.r.log;
  add_one("dobrushin", {}, log_norm(m, spread(worst)), log_bound + log_of(bound(worst)),
          log_norm(x.r, input_spread.maxCoeff()), Reason::kNone, true)
      .log_allowed = log_bound + log_of(bound.maxCoeff());  // of the widest channel, as what enters
  // Numbers in an interval of length s differ from their mean by s^2 / 4 in mean square at most.
  const double log_dobrushin_f =
      log_bound + log_of(std::sqrt(static_cast<double>(x.n())) * norms<double>(bound).frobenius / 2);
  out.log_output = std::min(log_certified_f, log_dobrushin_f);
  return out;
}

}  // namespace rankfall
