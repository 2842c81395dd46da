#include "engine/gradient/kernel_gradient.h"

#include <atomic>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "base/parallel.h"
#include "base/random.h"
#include "engine/gradient/attention_back.h"
#include "engine/gradient/taping.h"
#include "engine/kernel/closed_attention.h"
#include "engine/kernel/draws.h"
#include "engine/kernel/kernel_activation.h"
#include "engine/kernel/kernel_norm.h"
#include "engine/kernel/moments.h"
#include "linalg/gemm.h"
#include "network/attention/kind.h"

namespace rankfall {
namespace {

// Up to this variance of a centred logit P is taken for uniform. The squared gradients are then off by about as much,
// their roots by half of it.
constexpr double kUniformBelow = 0.02;

void multiply(ScaledMatrix& x, double factor) {
  if (factor == 0 || x.is_zero()) return set_zero(x);
  x.log += std::log(factor);
}

// From the derivatives by a linear map's outputs to those by its inputs.
ScaledMatrix through_back(const Network& network, const Linear& linear, ScaledMatrix g) {
  multiply(g, static_cast<double>(linear.n_out()) * moments_of(network, linear.w).variance);
  return g;
}

// log of the sum over tokens of x_ij y_ij.
double log_product(const ScaledMatrix& x, const ScaledMatrix& y) {
  if (x.is_zero() || y.is_zero()) return kLogZero;
  return x.log + y.log + log_or_zero(x.value.cwiseProduct(y.value).sum());
}

// K as a Scaled matrix.
ScaledMatrix whole(const Gram& k, const Tokens& tokens) {
  const double log = distances_of(k, tokens).log;
  if (log == kLogZero) return {Matrix<double>::Zero(k.n(), k.n()), kLogZero};
  return scaled<Matrix<double>>(plain(k, log), log);
}

// x x^T / columns.
ScaledMatrix mean_gram(const Matrix<double>& x) {
  const ScaledMatrix unit = scaled<Matrix<double>>(x);
  if (unit.is_zero()) return {Matrix<double>::Zero(x.rows(), x.rows()), kLogZero};
  const Matrix<double> square = product<double>(false, true, unit.value, unit.value, 1 / static_cast<double>(x.cols()));
  return scaled<Matrix<double>>(square, 2 * unit.log);
}

// The Gram matrices of the derivatives by queries, keys and values of all heads, per channel.
struct ProjectionGrams {
  ScaledMatrix q, k, v;
};

// The domain of expected derivatives.
class KernelBack {
 public:
  using State = ScaledMatrix;

  KernelBack(const Network& network, const Sample& sample, const KernelOptions& options, std::uint64_t seed)
      : network_(network), sample_(sample), options_(options), seed_(seed), tokens_(sample.n_tokens(), sample.valid) {
    squares_.resize(static_cast<std::size_t>(network.sizes.n_blocks));
  }

  void enter(const DescribedLayer& layer, const Tape<KernelState>& tape) {
    layer_ = &layer;
    tape_ = &tape;
  }
  void enter_branch(Index branch) { branch_ = static_cast<std::size_t>(branch); }

  State start() const {
    State out{Matrix<double>::Zero(sample_.n_tokens(), sample_.n_tokens()), 0};
    for (const Index i : tokens_.rows()) out.value(i, i) = 1;
    if (tokens_.rows().empty()) set_zero(out);
    return out;
  }

  State norm_back(const Norm& norm, NormPlace place, State y) const {
    return norm_back(norm,
                     place == NormPlace::kPre   ? tape_->input
                     : place == NormPlace::kOut ? tape_->branches[branch_].output
                                                : tape_->sum,
                     std::move(y));
  }

  // What a norm takes out of the derivative, its part along the token itself, is 1/d of it and left out.
  State norm_back(const Norm& norm, const KernelState& x, State y) const {
    multiply(y, moments_of(network_, norm).gain);
    if (norm.kind == Norm::Kind::kAffine || y.is_zero()) return y;
    Gram k = x.gram;
    if (norm.kind == Norm::Kind::kLayer && x.channel_means.size() > 0) {
      k = without_channel_means(std::move(k), x.channel_means, tokens_);
    }
    const Distances of = distances_of(k, tokens_);
    const double log_eps = norm.eps > 0 ? std::log(norm.eps) : kLogZero;
    RowVector<double> logs = RowVector<double>::Zero(k.n());  // of the divisors
    for (const Index i : tokens_.rows()) logs(i) = 0.5 * log_sum(log_length(of, i), log_eps);
    double smallest = logs(tokens_.rows().front());
    for (const Index i : tokens_.rows()) smallest = std::min(smallest, logs(i));
    for (const Index i : tokens_.rows()) {
      for (const Index j : tokens_.rows()) y.value(i, j) *= std::exp(2 * smallest - logs(i) - logs(j));
    }
    y.log -= 2 * smallest;
    rescale(y);
    return y;
  }

  State apply_back(const Attention& attention, const State& z) {
    const Gram& k = tape_->branches[branch_].input.gram;
    const ScaledMatrix mixed = through_back(network_, attention.o, z);
    const auto error = closed_error(network_, attention, k, tokens_);
    const bool uniform =
        options_.closed_below >= 0 && error && *error <= 3 * std::expm1(kUniformBelow) / std::max(tokens_.count(), 1.0);
    const ProjectionGrams by = uniform ? closed(attention, k, mixed) : drawn(attention, k, mixed);
    const ScaledMatrix all = whole(k, tokens_);
    // step_back multiplies by the branch's scale behind the function.
    const double scale = layer_->layer->branches[branch_].scale;
    const auto add_square = [&](double& log, const Linear& map, const ScaledMatrix& of, const ScaledMatrix& states) {
      const double factor = scale * scale * static_cast<double>(map.n_out()) * static_cast<double>(map.n_in());
      log = log_sum(log, log_or_zero(factor) + log_product(of, states));
    };
    PredictedGradients::Block& to = squares_[static_cast<std::size_t>(layer_->layer->block)];
    to.has_attention = true;
    add_square(to.log_q, attention.q, by.q, all);
    add_square(to.log_k, attention.k, by.k, key_gradients_cancel(attention) ? k.rest : all);
    add_square(to.log_v, attention.v, by.v, all);
    ScaledMatrix out = through_back(network_, attention.v, by.v);
    add(out, through_back(network_, attention.q, by.q));
    add(out, through_back(network_, attention.k, by.k));
    return out;
  }

  State apply_back(const Mlp& mlp, const State& z) const {
    const Gram& k = tape_->branches[branch_].input.gram;
    const auto of_map = [&](const Linear& linear) {
      const LinearMoments moments = moments_of(network_, linear);
      Gram out = k;
      scale(out, moments.factor);
      add_bias(out, moments.bias);
      return plain(out);
    };
    ScaledMatrix inner = through_back(network_, mlp.down, z);
    const Matrix<double> up = of_map(mlp.up);
    if (!mlp.gate) {
      const JointActivation act(mlp.act, up.diagonal().transpose(), tokens_);
      inner.value.array() *= act.slopes_with(act, up).array();
      rescale(inner);
      return through_back(network_, mlp.up, std::move(inner));
    }
    const Matrix<double> gate = of_map(*mlp.gate);
    const JointActivation act(mlp.act, gate.diagonal().transpose(), tokens_);
    ScaledMatrix by_gate = inner;
    by_gate.value.array() *= up.array() * act.slopes_with(act, gate).array();
    rescale(by_gate);
    inner.value.array() *= act.with(act, gate).array();
    rescale(inner);
    ScaledMatrix out = through_back(network_, mlp.up, std::move(inner));
    add(out, through_back(network_, *mlp.gate, std::move(by_gate)));
    return out;
  }

  State apply_back(const Elementwise& /*elementwise*/, const State& z) const { return z; }  // not carried

  State sum(double fx, State x, double fy, const State& y) const {
    add(x, fx * fx, y, fy * fy);
    return x;
  }
  State combine(double skip, State z, double branch, const State& x) const {
    add(z, skip * skip, x, branch * branch);
    return z;
  }

  PredictedGradients result() const {
    PredictedGradients out{squares_, sampled_};
    for (PredictedGradients::Block& of : out.blocks) {
      for (double* log : {&of.log_q, &of.log_k, &of.log_v}) *log *= 0.5;
    }
    return out;
  }

 private:
  // P = 11^T/n. With C = I - 11^T/n, K_V and K_K the Gram matrices of values and keys of a head, per channel,
  //   E dq_i . dq_k / d_h = scale^2 d_h Gamma_ik tr(C K_V C K_K) / n^2
  //   E dk_j . dk_l / d_h = scale^2 d_h (C K_V C)_jl / n^2 times the sum of Gamma_ik (K_Q)_ik
  //   E dv_j . dv_l / d_h = the sum of Gamma / n^2
  // and heads that share their keys add up. C K C is the rest of K.
  ProjectionGrams closed(const Attention& attention, const Gram& k, const ScaledMatrix& mixed) const {
    const double n = tokens_.count();
    const double shared = static_cast<double>(attention.n_heads) / static_cast<double>(attention.n_kv_heads);
    const double factor = attention.scale * attention.scale * static_cast<double>(attention.d_head) / (n * n);
    const double of_v = moments_of(network_, attention.v).factor;
    const double of_k = moments_of(network_, attention.k).factor;
    const LinearMoments of_q = moments_of(network_, attention.q);
    const auto times = [](ScaledMatrix x, double log) {
      if (log == kLogZero || x.is_zero()) {
        set_zero(x);
      } else {
        x.log += log;
      }
      return x;
    };
    Gram queries = k;
    scale(queries, of_q.factor);
    add_bias(queries, of_q.bias);
    const double log_factor = log_or_zero(factor * of_v);
    ScaledMatrix ones{Matrix<double>::Zero(k.n(), k.n()), 0};
    for (const Index i : tokens_.rows()) {
      for (const Index j : tokens_.rows()) ones.value(i, j) = 1;
    }
    const double total = log_product(mixed, ones);
    return {times(mixed, log_factor + log_or_zero(of_k) + log_product(k.rest, k.rest)),
            times(k.rest, log_factor + std::log(shared) + log_product(mixed, whole(queries, tokens_))),
            times(ones, total + std::log(shared) - 2 * std::log(n))};
  }

  // Whole attentions are drawn, each with its derivative: normal, with the covariances that k and `mixed` give them.
  ProjectionGrams drawn(const Attention& attention, const Gram& k, const ScaledMatrix& mixed) {
    sampled_ = true;
    const Index n = k.n();
    const auto source = draw_weights(network_.tensors, seed_);
    LayerLoader<double> loader(network_, *source, n, LayerLoader<double>::Load::kPositions);
    const LoadedLayer<double>& layer = loader.load(layer_->index);
    const SplitState states = factor_of(k, tokens_, sample_.valid);
    const SplitState derivatives = factor_of(gram_of(mixed.value, tokens_), tokens_, sample_.valid);
    const Index n_sets = (options_.draws + attention.n_heads - 1) / attention.n_heads;
    const Index d_heads = attention.n_heads * attention.d_head;
    const Index d_keys = attention.n_kv_heads * attention.d_head;
    std::vector<ProjectionGrams> sets(static_cast<std::size_t>(n_sets));
    parallel_for(n_sets, [&](Index set) {
      const auto key = [&](const char* what) {
        return random_key(seed_, fmt::format("gradient of layer {}, set {}, {}", layer_->index, set, what));
      };
      const auto drawn_of = [&](const Linear& map, Index width, const char* w, const char* b) {
        return drawn_linear(states, moments_of(network_, map), width, key(w), key(b));
      };
      const SplitState q = drawn_of(attention.q, d_heads, "W_Q", "b_Q");
      const SplitState keys = drawn_of(attention.k, d_keys, "W_K", "b_K");
      const SplitState v = drawn_of(attention.v, d_keys, "W_V", "b_V");
      Matrix<double> m = joined(drawn_linear(derivatives, {1, 0}, d_heads, key("G"), key("G")));
      for (Index i = 0; i < n; ++i) {
        if (!sample_.valid.empty() && sample_.valid[static_cast<std::size_t>(i)] == 0) m.row(i).setZero();
      }
      const auto by = attention_back(attention, layer, sample_, {joined(q), joined(keys), {}},
                                     {plain(keys.residual), plain(v.residual)}, std::span(&m, 1));
      sets[static_cast<std::size_t>(set)] = {mean_gram(by[0].q), mean_gram(by[0].k), mean_gram(by[0].v)};
    });
    ProjectionGrams out = sets[0];
    for (std::size_t set = 1; set < sets.size(); ++set) {
      add(out.q, sets[set].q);
      add(out.k, sets[set].k);
      add(out.v, sets[set].v);
    }
    for (ScaledMatrix* of : {&out.q, &out.k, &out.v}) {
      multiply(*of, 1 / static_cast<double>(n_sets));
      if (!of->is_zero()) of->log += mixed.log;
    }
    return out;
  }

  const Network& network_;
  const Sample& sample_;
  const KernelOptions& options_;
  std::uint64_t seed_;
  Tokens tokens_;
  const DescribedLayer* layer_ = nullptr;
  const Tape<KernelState>* tape_ = nullptr;
  std::size_t branch_ = 0;
  std::vector<PredictedGradients::Block> squares_;
  bool sampled_ = false;
};

PredictedGradients predict_one(const Network& network, const Sample& sample, const KernelOptions& options, Index chain,
                               const std::function<void()>& tick) {
  Kernel kernel(&network, &sample, nullptr, options, chain);
  const auto n_layers = std::ssize(network.layers);
  const auto described = [&](Index l) { return DescribedLayer{l, &network.layers[static_cast<std::size_t>(l)]}; };
  std::vector<KernelState> inputs;
  KernelState x = kernel.start();
  for (Index l = 0; l < n_layers; ++l) {
    const DescribedLayer layer = described(l);
    kernel.enter(layer);
    inputs.push_back(x);
    x = step(kernel, *layer.layer, std::move(x));
    tick();
  }
  KernelBack back(network, sample, options, kernel.seed());
  ScaledMatrix g = back.start();
  if (network.final_norm) g = back.norm_back(*network.final_norm, x, std::move(g));
  for (Index l = n_layers; l-- > 0;) {
    const DescribedLayer layer = described(l);
    Taping<Kernel> taping(Kernel(&network, &sample, nullptr, options, chain), nullptr);
    taping.enter(layer);
    step(taping, *layer.layer, std::move(inputs[static_cast<std::size_t>(l)]));
    inputs.pop_back();
    back.enter(layer, taping.tape());
    g = step_back(back, *layer.layer, std::move(g));
    tick();
  }
  PredictedGradients out = back.result();
  out.sampled = out.sampled || kernel.sampled();
  return out;
}

}  // namespace

std::optional<NotCarried> kernel_gradient_not_carried(const Network& network) {
  if (shares_weights(network)) return NotCarried{Reason::kSharedWeights, "gradients"};
  return gradient_not_carried(network);
}

std::vector<PredictedGradients> predicted_gradients(const Network& network, std::span<const Sample> samples,
                                                    Index n_chains, const KernelOptions& options,
                                                    const Progress& progress) {
  const BlasThreads one_blas_thread(1);
  const Index n_jobs = std::ssize(samples) * n_chains;
  std::vector<PredictedGradients> out(static_cast<std::size_t>(n_jobs));
  const auto total = static_cast<double>(2 * n_jobs * std::ssize(network.layers));
  std::atomic<Index> done{0};
  const auto caller = std::this_thread::get_id();
  parallel_for(n_jobs, [&](Index job) {
    const Sample& sample = samples[static_cast<std::size_t>(job / n_chains)];
    out[static_cast<std::size_t>(job)] = predict_one(network, sample, options, job % n_chains, [&] {
      const auto so_far = static_cast<double>(++done);
      if (progress && std::this_thread::get_id() == caller) progress(so_far, total, "gradients");
    });
  });
  return out;
}

}  // namespace rankfall
