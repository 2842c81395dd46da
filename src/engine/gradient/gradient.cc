#include "engine/gradient/gradient.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/parallel.h"
#include "base/random.h"
#include "engine/forward_impl.h"
#include "engine/gradient/attention_back.h"
#include "engine/gradient/slopes.h"
#include "engine/gradient/taping.h"
#include "linalg/norms_impl.h"
#include "network/attention/kind.h"

namespace rankfall {
namespace {

// y w, for y = x w^T: from the derivative by a linear map's result to that by its input.
Matrix<double> linear_back(const MatrixRef<double>& y, const WeightView<double>& w) {
  return product<double>(false, w.transposed, y, w.stored);
}

// Less a row near all others, their mean: tokens that nearly agree keep the digits in which they differ.
Matrix<double> centred_tokens(const Matrix<double>& x, std::span<const std::uint8_t> valid) {
  Matrix<double> out = Matrix<double>::Zero(x.rows(), x.cols());
  const Matrix<double> rows = centred_rows<double>(x, valid);
  Index next = 0;
  for (const Index i : valid_rows(x.rows(), valid)) out.row(i) = rows.row(next++);
  return out;
}

// The domain of derivatives: for each probe the matrix d<G, Y>/dX, for the state X where the pass is. Goes backwards by
// step_back over the tapes of the forward pass.
class Backward {
 public:
  using State = std::vector<Matrix<double>>;  // by probe

  Backward(const Sample& sample, Index index, Index n_probes, const GradientSink& sink)
      : sample_(sample), index_(index), n_probes_(n_probes), sink_(sink) {}

  void enter(const LoadedLayer<double>& layer, const Tape<Matrix<double>>& tape) {
    layer_ = &layer;
    tape_ = &tape;
  }
  void enter_branch(Index branch) { branch_ = static_cast<std::size_t>(branch); }

  State norm_back(const Norm& norm, NormPlace place, State y) {
    const Matrix<double>& x = place == NormPlace::kPre   ? tape_->input
                              : place == NormPlace::kOut ? tape_->branches[branch_].output
                                                         : tape_->sum;
    return each(std::move(y), [&](Matrix<double>& g) {
      g = rankfall::norm_back(norm, weights().vector(norm.gain), x, std::move(g));
    });
  }

  State apply_back(const Attention& attention, const State& z) {
    const Matrix<double>& x = tape_->branches[branch_].input;
    const Matrix<double> apart = centred_tokens(x, sample_.valid);
    const WeightView<double> wq = weights().matrix(attention.q.w);
    const WeightView<double> wk = weights().matrix(attention.k.w);
    const WeightView<double> wv = weights().matrix(attention.v.w);
    const VectorView<double> none(nullptr, 0);
    const HeadProjections of{linear<double>(x, wq, weights().vector(attention.q.b)),
                             linear<double>(x, wk, weights().vector(attention.k.b)),
                             {}};
    State mixed;
    for (const Matrix<double>& g : z) mixed.push_back(linear_back(g, weights().matrix(attention.o.w)));
    const std::vector<HeadProjections> by = attention_back(
        attention, *layer_, sample_, of, {linear<double>(apart, wk, none), linear<double>(apart, wv, none)}, mixed);

    BlockGradients& to = norms[static_cast<std::size_t>(layer_->layer->block)];
    const CentredNorms of_x = centred_norms<double>(x, sample_.valid);
    to.has_attention = true;
    if (of_x.state.composite() > 0) to.residual = of_x.residual.composite() / of_x.state.composite();
    State out;
    for (std::size_t p = 0; p < by.size(); ++p) {
      to.q = std::hypot(to.q, weight_norm(ProjectionName::kQ, p, by[p].q, x));
      to.k = std::hypot(to.k, weight_norm(ProjectionName::kK, p, by[p].k, key_gradients_cancel(attention) ? apart : x));
      to.v = std::hypot(to.v, weight_norm(ProjectionName::kV, p, by[p].v, x));
      Matrix<double>& g = out.emplace_back(linear_back(by[p].v, wv));
      g += linear_back(by[p].q, wq);
      g += linear_back(by[p].k, wk);
    }
    return out;
  }

  State apply_back(const Mlp& mlp, const State& z) {
    const Matrix<double>& x = tape_->branches[branch_].input;
    const WeightView<double> w_up = weights().matrix(mlp.up.w);
    const WeightView<double> w_down = weights().matrix(mlp.down.w);
    Matrix<double> up = linear<double>(x, w_up, weights().vector(mlp.up.b));
    if (!mlp.gate) {
      const Matrix<double> slope = slope_of(mlp.act, up);
      return each(z, [&](Matrix<double>& g) { g = linear_back(linear_back(g, w_down).cwiseProduct(slope), w_up); });
    }
    const WeightView<double> w_gate = weights().matrix(mlp.gate->w);
    Matrix<double> gate = linear<double>(x, w_gate, weights().vector(mlp.gate->b));
    up.array() *= slope_of(mlp.act, gate).array();  // what the gate's derivative is multiplied with
    activate<double>(mlp.act, gate);
    return each(z, [&](Matrix<double>& g) {
      const Matrix<double> inner = linear_back(g, w_down);
      g = linear_back(inner.cwiseProduct(gate), w_up) + linear_back(inner.cwiseProduct(up), w_gate);
    });
  }

  State apply_back(const Elementwise& elementwise, const State& z) {
    const Matrix<double> slope = slope_of(elementwise.act, tape_->branches[branch_].input);
    return each(z, [&](Matrix<double>& g) { g = g.cwiseProduct(slope); });
  }

  State sum(double fx, State x, double fy, const State& y) {
    for (std::size_t p = 0; p < x.size(); ++p) x[p] = fx * x[p] + fy * y[p];
    return x;
  }
  State combine(double skip, State z, double branch, const State& x) {
    for (std::size_t p = 0; p < z.size(); ++p) z[p] = skip * z[p] + branch * x[p];
    return z;
  }

  std::vector<BlockGradients> norms;  // by block

 private:
  static State each(State y, const auto& change) {
    for (Matrix<double>& g : y) change(g);
    return y;
  }

  // A probe's share in the root mean square.
  double weight_norm(ProjectionName projection, std::size_t probe, const Matrix<double>& y,
                     const Matrix<double>& x) const {
    // step_back multiplies by the branch's scale behind the function.
    const double scale = layer_->layer->branches[branch_].scale;
    const Matrix<double> gradient = product<double>(true, false, y, x, scale);
    if (sink_) sink_({index_, static_cast<Index>(probe), layer_->index, projection}, gradient);
    return gradient.stableNorm() / std::sqrt(static_cast<double>(n_probes_));
  }

  const LayerWeights<double>& weights() const { return layer_->weights; }

  const Sample& sample_;
  Index index_;
  Index n_probes_;
  const GradientSink& sink_;
  const LoadedLayer<double>* layer_ = nullptr;
  const Tape<Matrix<double>>* tape_ = nullptr;
  std::size_t branch_ = 0;
};

}  // namespace

std::optional<NotCarried> gradient_not_carried(const Network& network) {
  for (const SubLayer& layer : network.layers) {
    const Attention* attention = layer.attention();
    if (attention && is_low_rank(attention->weights)) {
      return NotCarried{Reason::kLowRank, fmt::format("block {}", layer.block)};
    }
  }
  return std::nullopt;
}

Matrix<double> gradient_probe(std::uint64_t seed, Index sample, Index probe, Index d, const Sample& of) {
  std::vector<float> drawn(static_cast<std::size_t>(of.n_tokens() * d));
  fill_normal(random_key(seed, fmt::format("gradient, sample {}, probe {}", sample, probe)), 0, drawn, 1.0);
  Matrix<double> out = Matrix<double>::Zero(of.n_tokens(), d);
  const Eigen::Map<const Matrix<float>> all(drawn.data(), out.rows(), out.cols());
  for (const Index i : valid_rows(out.rows(), of.valid)) out.row(i) = all.row(i).cast<double>();
  return out;
}

std::vector<std::vector<BlockGradients>> gradient_norms(const Network& network, const WeightSource& weights,
                                                        std::span<const Sample> samples,
                                                        const GradientOptions& gradient, const ForwardOptions& options,
                                                        const GradientSink& sink) {
  const BlasThreads one_blas_thread(1);
  const Index n_samples = std::ssize(samples);
  const auto n_layers = std::ssize(network.layers);
  const auto each_sample = [&](const auto& body) {
    parallel_for(n_samples, [&](Index s) { body(static_cast<std::size_t>(s)); });
  };
  using OfSample = std::vector<Matrix<double>>;
  std::vector<OfSample> inputs(samples.size());
  std::vector<OfSample*> watch;
  watch.reserve(inputs.size());
  for (OfSample& of_sample : inputs) watch.push_back(&of_sample);
  std::vector<Matrix<double>> outputs = input_states<double>(network, weights, samples);
  run_samples<DenseTaping, OfSample>(network, weights, samples, watch, outputs, {});

  std::vector<Backward> domains;
  std::vector<Backward::State> states(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const auto index = static_cast<Index>(s);
    domains.emplace_back(samples[s], index, gradient.n_probes, sink);
    domains[s].norms.resize(static_cast<std::size_t>(network.sizes.n_blocks));
    for (Index p = 0; p < gradient.n_probes; ++p) {
      states[s].push_back(gradient_probe(gradient.seed, index, p, outputs[s].cols(), samples[s]));
    }
  }
  outputs.clear();
  if (network.final_norm) {
    const LayerWeights<double> of_norm(slices_of(*network.final_norm), network.tensors, weights);
    each_sample([&](std::size_t s) {
      for (Matrix<double>& g : states[s]) {
        g = norm_back(*network.final_norm, of_norm.vector(network.final_norm->gain), inputs[s].back(), std::move(g));
      }
    });
  }

  LayerLoader<double> loader(network, weights, longest(samples));
  for (Index l = n_layers; l-- > 0;) {
    const auto& loaded = loader.load(l);
    each_sample([&](std::size_t s) {
      DenseTaping taping(&samples[s], nullptr);
      taping.enter(loaded);
      step(taping, *loaded.layer, std::move(inputs[s][static_cast<std::size_t>(l)]));
      domains[s].enter(loaded, taping.tape());
      states[s] = step_back(domains[s], *loaded.layer, std::move(states[s]));
      for (const Matrix<double>& g : states[s]) {
        check_finite<double>(g, fmt::format("block {}, derivative", loaded.layer->block));
      }
    });
    weights.check();
    if (options.progress) options.progress(static_cast<double>(n_layers - l), static_cast<double>(n_layers), "back");
  }

  std::vector<std::vector<BlockGradients>> out;
  out.reserve(domains.size());
  for (Backward& domain : domains) out.push_back(std::move(domain.norms));
  return out;
}

}  // namespace rankfall
