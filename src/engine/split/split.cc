#include "engine/split/split.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.h"
#include "engine/forward_impl.h"
#include "engine/split/split_activation.h"
#include "engine/split/split_attention.h"
#include "linalg/gemm.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include "linalg/spectra.h"
#include "network/attention/kind.h"

namespace rankfall {
namespace {

bool counts(std::span<const std::uint8_t> valid, Index row) {
  return valid.empty() || valid[static_cast<std::size_t>(row)] != 0;
}

bool is_finite(const SplitState& x) {
  const auto good = [](const auto& part) {
    return part.value.allFinite() && !std::isnan(part.log) && part.log != -kLogZero;
  };
  return good(x.mean) && good(x.residual);
}

void check_split(const SplitState& x, const std::string& place) {
  if (is_finite(x)) return;
  throw numerical_error(
      "{}: NaN or infinity, expected finite numbers; the weights may hold such a value, or states or "
      "logits leave the range of double",
      place);
}

// Whether what enters the first stage of an input map has been rounded: a row of one table, and numbers given, have
// not.
bool is_rounded(const InputMap& input) {
  if (const auto* tokens = std::get_if<TokenInput>(&input.source)) {
    return tokens->segments || tokens->positions || tokens->projection;
  }
  return std::holds_alternative<PatchInput>(input.source);
}

// Differences above this share of the mean are no longer small.
constexpr double kSmall = 0.125;

// One row of a norm. The token is c + e^s C in units of the mean token's divisor, C = along u + across with u = c/|c|.
struct NormRow {
  double along = 0;   // what remains of the residual along u
  double across = 1;  // factor of what is across
};

// log_size = log |c|, d channels, damping = eps / (mean square of the mean token + eps). The component along u is
// changed by the division in nearly the same proportion as the mean itself; only the difference remains, and it is
// formed here without subtracting the two (math.md 2).
NormRow norm_row(double along, double across_squared, double log_size, double s, double d, double damping) {
  const double size = std::exp(log_size);
  const double es = std::exp(s);
  const double ratio = along == 0 ? 0.0 : std::exp(s - log_size) * along;  // e^s along / |c|
  const double length = size * (1 + ratio);
  const double w = std::sqrt(damping + (length * length + es * es * across_squared) / d);
  if (ratio <= -1 || !std::isfinite(ratio)) {    // the token points the other way
    if (es < 1e-100) return {along / w, 1 / w};  // all is far below eps, and only divided by its root
    return {(length / w - size) / es, 1 / w};
  }
  const double numerator = damping * along * (2 + ratio) - size * es * across_squared / d;
  return {numerator / (w * (w + 1 + ratio)), 1 / w};
}

}  // namespace

Index smallest_row(const MatrixRef<double>& r, std::span<const std::uint8_t> valid) {
  Index smallest = -1;
  double least = 0;
  for (Index i = 0; i < r.rows(); ++i) {
    if (!counts(valid, i)) continue;
    const double size = r.row(i).cwiseAbs().maxCoeff();
    if (smallest < 0 || size < least) {
      smallest = i;
      least = size;
    }
  }
  return std::max<Index>(smallest, 0);
}

void recentre(SplitState& x, std::span<const std::uint8_t> valid) {
  Matrix<double>& r = x.residual.value;
  const std::vector<Index> rows = valid_rows(r.rows(), valid);
  for (Index i = 0; i < r.rows(); ++i) {
    if (!counts(valid, i)) r.row(i).setZero();
  }
  // Their mean about the first of them, so that equal rows have no residual.
  RowVector<double> shift = RowVector<double>::Zero(r.cols());
  if (!rows.empty()) {
    for (const Index i : rows) shift += r.row(i) - r.row(rows[0]);
    shift = r.row(rows[0]) + shift / static_cast<double>(rows.size());
  }
  double spread = 0;
  for (const Index i : rows) {
    const double distance = (r.row(i) - shift).cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
    if (!(distance <= spread)) spread = distance;  // NaN stays
  }
  ScaledRow mean = x.mean;
  rescale(mean);
  add(mean, scaled<RowVector<double>>(shift, x.residual.log));
  if (spread > 0 && x.residual.log + std::log(spread) > mean.log + std::log(kSmall)) {
    if (!x.mean.is_zero()) {
      ScaledMatrix whole{Matrix<double>::Zero(r.rows(), r.cols()), x.mean.log};
      for (const Index i : rows) whole.value.row(i) = x.mean.value;
      rescale(whole);
      rescale(x.residual);
      add(x.residual, whole);
      set_zero(x.mean);
    }
  } else {
    for (const Index i : rows) r.row(i) -= shift;
    if (spread == 0) r.setZero();
    x.mean = std::move(mean);
  }
  rescale(x.residual);
}

SplitState linear(const SplitState& x, const WeightView<double>& w, const VectorView<double>& b) {
  const Index n = x.residual.value.rows();
  Matrix<double> rows(n + 1, x.residual.value.cols());
  rows.topRows(n) = x.residual.value;
  rows.row(n) = x.mean.value;
  const Matrix<double> y = linear<double>(rows, w, VectorView<double>(nullptr, 0));
  SplitState out{scaled<RowVector<double>>(y.row(n), x.mean.log), {y.topRows(n), x.residual.log}};
  if (b.size() > 0) add(out.mean, scaled<RowVector<double>>(b));
  return out;
}

namespace {

// Takes the mean over channels out of a row. Of two channels half their difference is left, with either sign: the two
// must not differ by a rounding, see below.
template <class Row>
void centre_channels(Row&& row) {
  if (row.size() == 2) {
    row(0) = 0.5 * (row(0) - row(1));
    row(1) = -row(0);
  } else {
    row.array() -= row.sum() / static_cast<double>(row.size());
  }
}

}  // namespace

SplitState normalised(const Norm& norm, const VectorView<double>& gain, const VectorView<double>& bias,
                      std::span<const std::uint8_t> valid, SplitState x) {
  if (norm.kind == Norm::Kind::kAffine) {
    if (gain.size() > 0) {
      x.mean.value.array() *= gain.array();
      x.residual.value.array().rowwise() *= gain.array();
    }
    rescale(x.mean);
    if (bias.size() > 0) add(x.mean, scaled<RowVector<double>>(bias));
    return x;
  }
  const double d = static_cast<double>(x.mean.value.size());
  Matrix<double>& r = x.residual.value;
  const bool centres = norm.kind == Norm::Kind::kLayer;
  if (centres) {
    centre_channels(x.mean.value);
    rescale(x.mean);
    for (Index i = 0; i < r.rows(); ++i) centre_channels(r.row(i));
    rescale(x.residual);
  }
  // All tokens lie on one line through zero: nothing is across it, not even a rounding, which could be all that is
  // left.
  const bool on_a_line = x.mean.value.size() == (centres ? 2 : 1);
  if (x.mean.is_zero() && !x.residual.is_zero()) {  // about a token, so that those parallel to it keep their digits
    const RowVector<double> reference = r.row(smallest_row(r, valid));
    for (const Index i : valid_rows(r.rows(), valid)) r.row(i) -= reference;
    x.mean = scaled<RowVector<double>>(reference, x.residual.log);
  }
  const double log_eps = norm.eps > 0 ? std::log(norm.eps) : kLogZero;
  // v = |c|^2 / d + eps, in logarithms: the mean may be smaller than any double.
  const double length = x.mean.value.norm();
  const double log_length = length == 0 ? kLogZero : x.mean.log + std::log(length);
  const double log_square = 2 * log_length - std::log(d);
  const double top = std::max(log_square, log_eps);
  if (top == kLogZero) {
    throw numerical_error("norm of a mean token that is zero, with eps = 0: there is nothing to divide by");
  }
  const double log_v = top + std::log(share(log_square, top) + share(log_eps, top));
  const double damping = share(log_eps, log_v);
  x.mean.log -= log_v / 2;
  x.residual.log -= log_v / 2;

  if (!x.residual.is_zero()) {
    const RowVector<double>& c = x.mean.value;
    const double square = c.squaredNorm();
    for (Index i = 0; i < r.rows(); ++i) {
      double part = 0;  // of c in the row; projected out twice, for what rounding leaves the first time
      for (int pass = 0; pass < 2 && length > 0; ++pass) {
        const double found = c.dot(r.row(i)) / square;
        r.row(i) -= found * c;
        part += found;
      }
      if (on_a_line && length > 0) r.row(i).setZero();
      const NormRow row =
          norm_row(part * length, r.row(i).squaredNorm(), log_length - log_v / 2, x.residual.log, d, damping);
      r.row(i) *= row.across;
      if (length > 0) r.row(i) += row.along / length * c;
    }
    if (gain.size() > 0) r.array().rowwise() *= gain.array();
  }
  if (gain.size() > 0) x.mean.value.array() *= gain.array();
  rescale(x.mean);
  if (bias.size() > 0) add(x.mean, scaled<RowVector<double>>(bias));
  return x;
}

SplitState Split::norm(const Norm& norm, NormPlace place, State x) {
  return norm_with(layer_->weights, norm, place, std::move(x));
}

SplitState Split::norm_with(const LayerWeights<double>& weights, const Norm& norm, NormPlace /*place*/, State x) {
  return settled(normalised(norm, weights.vector(norm.gain), weights.vector(norm.bias), sample_->valid, std::move(x)));
}

SplitState Split::apply(const Attention& attention, const State& x) {
  if (inside_) inside_->attention(*layer_, x);
  return branch_done(split_attention(attention, *layer_, *sample_, jitter_, x), "attention");
}

SplitState Split::apply(const Mlp& mlp, const State& x) {
  const LayerWeights<double>& weights = layer_->weights;
  const auto map = [&](const Linear& f, const State& in) {
    SplitState out = linear(in, weights.matrix(f.w), weights.vector(f.b));
    jitter_(out);
    return out;
  };
  SplitState inner;
  if (mlp.gate) {
    inner = map(*mlp.gate, x);
    activate(mlp.act, inner);
    inner = product(inner, map(mlp.up, x));
  } else {
    inner = map(mlp.up, x);
    activate(mlp.act, inner);
  }
  jitter_(inner);
  return branch_done(map(mlp.down, inner), "MLP");
}

SplitState Split::apply(const Elementwise& elementwise, const State& x) {
  SplitState y = x;
  activate(elementwise.act, y);
  return branch_done(std::move(y), "activation");
}

SplitState Split::branch_done(State y, const char* what) {
  check_split(y, fmt::format("block {}, {} output", layer_->layer->block, what));
  return settled(std::move(y));
}

SplitState Split::settled(State x) {
  jitter_(x);
  recentre(x, sample_->valid);
  return x;
}

SplitState Split::start(const Network& network, const WeightSource& source, const LayerWeights<double>& stages) {
  if (const auto* given = std::get_if<HiddenState>(&sample_->content)) {
    return settled(split(given->values, sample_->valid));
  }
  const Matrix<double> sum = std::visit(
      [&](const auto& input) { return source_state<double>(network, source, input, *sample_); }, network.input.source);
  SplitState x = split(sum, sample_->valid);
  if (is_rounded(network.input) && !x.residual.is_zero()) {  // equal sums are rounded alike
    x = {{RowVector<double>::Zero(sum.cols()), kLogZero}, {sum, 0}};
    jitter_(x.residual);
    recentre(x, sample_->valid);
  }
  x = settled(std::move(x));
  for (const auto& stage : network.input.stages) {
    if (const auto* f = std::get_if<Linear>(&stage)) {
      x = linear(x, stages.matrix(f->w), stages.vector(f->b));
    } else if (const auto* norm = std::get_if<Norm>(&stage)) {
      x = normalised(*norm, stages.vector(norm->gain), stages.vector(norm->bias), sample_->valid, std::move(x));
    } else if (const auto* act = std::get_if<Activation>(&stage)) {
      activate(*act, x);
    } else {
      const double log = std::log(std::get<Factor>(stage).value);
      x.mean.log += log;
      x.residual.log += log;
    }
    x = settled(std::move(x));
  }
  return x;
}

SplitState Split::sum(double fx, State x, double fy, const State& y) {
  add(x.mean, fx, y.mean, fy);
  add(x.residual, fx, y.residual, fy);
  return settled(std::move(x));
}

SplitState Split::combine(double skip, const State& x, double branch, State y) {
  if (skip != 0 || branch != 1) {
    add(y.mean, branch, x.mean, skip);
    add(y.residual, branch, x.residual, skip);
    y = settled(std::move(y));
  }
  if (inside_) inside_->combined(*layer_, x, y);
  return y;
}

void Split::hidden(Index state, const State& x) {
  check_split(x, fmt::format("hidden state {}", state));
  if (observer_) observer_->hidden(state, x);
}

SplitState split(const MatrixRef<double>& x, std::span<const std::uint8_t> valid) {
  SplitState state{{RowVector<double>::Zero(x.cols()), kLogZero}, {x, 0}};
  for (Index i = 0; i < x.rows(); ++i) {
    if (!counts(valid, i)) state.residual.value.row(i).setZero();
  }
  rescale(state.residual);
  recentre(state, valid);
  return state;
}

Matrix<double> joined(const SplitState& x) {
  Matrix<double> out = plain(x.residual);
  out.rowwise() += plain(x.mean);
  return out;
}

SplitNorms split_norms(const SplitState& x, std::span<const std::uint8_t> valid, bool spectral) {
  const auto log_norms = [&](const ScaledMatrix& m) {
    const Norms n = norms<double>(m.value);
    const auto log10_of = [&](double value) {
      return value == 0 ? kLogZero : (m.log + std::log(value)) / std::log(10.0);
    };
    return LogNorms{log10_of(n.composite()), log10_of(n.one), log10_of(n.inf), log10_of(n.frobenius),
                    spectral ? log10_of(spectral_norm(m.value)) : std::numeric_limits<double>::quiet_NaN()};
  };
  SplitNorms out;
  out.residual = log_norms({centred_rows<double>(x.residual.value, valid), x.residual.log});
  const std::vector<Index> rows = valid_rows(x.residual.value.rows(), valid);
  ScaledMatrix state{x.residual.value(rows, Eigen::all), x.residual.log};
  rescale(state);
  add(state, {x.mean.value.replicate(state.value.rows(), 1), x.mean.log});
  out.state = log_norms(state);
  return out;
}

namespace {

std::string cannot_track() {
  return fmt::format(
      "mean and residual can be kept apart only where P is a softmax of logits: {}. "
      "`rankfall measure` follows the other kinds of attention, down to rounding",
      softmax_kinds());
}

bool can_track(const Network& network) {
  return std::ranges::none_of(network.layers, [](const SubLayer& layer) {
    const Attention* attention = layer.attention();
    return attention && is_low_rank(attention->weights);
  });
}

}  // namespace

void check_trackable(const Network& network, std::span<const Variant> variants) {
  std::vector<std::string> fit;
  std::vector<std::string> do_not;
  for (const Variant& variant : variants) (can_track(apply(variant, network)) ? fit : do_not).push_back(variant.name);
  if (do_not.empty()) return;
  throw usage_error("variant{} {}: {}{}", do_not.size() > 1 ? "s" : "", fmt::join(do_not, "; "), cannot_track(),
                    fit.empty() ? "" : fmt::format(". Of those asked for {} can be followed", fmt::join(fit, "; ")));
}

std::vector<SplitState> track(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                              std::span<SplitObserver* const> observers, const ForwardOptions& options) {
  check_observers(observers.size(), samples.size());
  if (!can_track(network)) throw usage_error(cannot_track());
  const BlasThreads one_blas_thread(1);
  std::vector<SplitState> states(samples.size());
  for (const Sample& sample : samples) check_sample(network, sample);
  {
    const LayerWeights<double> stages(stage_slices(network.input), network.tensors, weights);
    parallel_for(std::ssize(samples), [&](Index s) {
      const auto i = static_cast<std::size_t>(s);
      states[i] = Split(&samples[i], observers.empty() ? nullptr : observers[i]).start(network, weights, stages);
    });
    weights.check();
  }
  run_samples<Split, SplitObserver>(network, weights, samples, observers, states, options);
  return states;
}

}  // namespace rankfall
