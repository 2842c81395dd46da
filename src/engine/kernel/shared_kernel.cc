#include "engine/kernel/shared_kernel.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/parallel.h"
#include "engine/kernel/carried.h"
#include "engine/kernel/closed_attention.h"
#include "engine/kernel/joint_factor.h"
#include "engine/kernel/kernel_activation.h"
#include "engine/kernel/moments.h"
#include "engine/kernel/sampled_attention.h"
#include "linalg/gemm.h"

namespace rankfall {
namespace {

using State = SharedKernel::State;

// Outputs whose covariances with each other are not zero.
struct Outputs {
  // cov[p][q], q <= p: between tokens of output p (rows) and of output q (columns).
  std::vector<std::vector<Matrix<double>>> cov;

  double at(std::size_t p, std::size_t q, Index i, Index k) const { return p >= q ? cov[p][q](i, k) : cov[q][p](k, i); }
};

// The sub-layers that share a function's weights, as far as the run has come.
struct Group {
  Outputs* outputs = nullptr;
  Index first_layer = 0;
  std::vector<State> inputs;
  // Of attention: the closed form of each input, and draws where it has none.
  std::vector<std::optional<Matrix<double>>> closed;
  std::vector<std::vector<Matrix<double>>> drawn;
  std::vector<Index> layers;
  JointFactor factor;
  // Of an MLP.
  std::vector<JointActivation> act;
};

Matrix<double> through(const LinearMoments& moments, const Matrix<double>& k, const Tokens& tokens) {
  Matrix<double> out = moments.factor * k;
  if (moments.bias == 0) return out;
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) out(i, j) += moments.bias;
  }
  return out;
}

}  // namespace

struct SharedKernel::Held {
  const Network& network;
  const Sample& sample;
  KernelObserver* observer;
  KernelOptions options;
  Kernel plain;  // starts, and has the random numbers of the chain
  Tokens tokens;
  const Layer* layer = nullptr;
  bool sampled = false;

  struct Source {
    Outputs* outputs = nullptr;
    std::size_t place = 0;
    bool channel_mean = false;  // of each token: what a LayerNorm takes out
  };
  std::vector<Source> sources;
  std::vector<std::unique_ptr<Outputs>> outputs;
  std::map<FunctionWeights, Group> groups;

  Index n() const { return sample.n_tokens(); }

  Term add_source(Outputs& of, std::vector<Matrix<double>> with_each, bool channel_mean = false) {
    sources.push_back({&of, of.cov.size(), channel_mean});
    of.cov.push_back(std::move(with_each));
    return {std::ssize(sources) - 1, RowVector<double>::Ones(n())};
  }
  Outputs& new_outputs() { return *outputs.emplace_back(std::make_unique<Outputs>()); }

  // E x_i^2 / d.
  RowVector<double> variances(const State& x) const {
    RowVector<double> out = RowVector<double>::Zero(n());
    for (const Term& a : x) {
      for (const Term& b : x) {
        const Source& of_a = sources[static_cast<std::size_t>(a.source)];
        const Source& of_b = sources[static_cast<std::size_t>(b.source)];
        if (of_a.outputs != of_b.outputs) continue;
        for (const Index i : tokens.rows()) {
          out(i) += a.factors(i) * b.factors(i) * of_a.outputs->at(of_a.place, of_b.place, i, i);
        }
      }
    }
    return out.cwiseMax(0);
  }

  // Covariances of x (rows) with every source (columns) that some state of `others` has.
  std::vector<Matrix<double>> with_sources(const State& x, const std::vector<State>& others) const {
    std::vector<char> asked(sources.size(), 0);
    for (const State& other : others) {
      for (const Term& term : other) asked[static_cast<std::size_t>(term.source)] = 1;
    }
    std::vector<Matrix<double>> out(sources.size());
    parallel_for(std::ssize(sources), [&](Index s) {
      const auto place = static_cast<std::size_t>(s);
      if (!asked[place]) return;
      const Source& b = sources[place];
      Matrix<double> sum = Matrix<double>::Zero(n(), n());
      for (const Term& term : x) {
        const Source& a = sources[static_cast<std::size_t>(term.source)];
        if (a.outputs != b.outputs) continue;
        if (a.place >= b.place) {
          sum += term.factors.transpose().asDiagonal() * a.outputs->cov[a.place][b.place];
        } else {
          sum += term.factors.transpose().asDiagonal() * a.outputs->cov[b.place][a.place].transpose();
        }
      }
      out[place] = std::move(sum);
    });
    return out;
  }

  Matrix<double> with_state(const std::vector<Matrix<double>>& with_each, const State& y) const {
    Matrix<double> out = Matrix<double>::Zero(n(), n());
    for (const Term& term : y) {
      out += with_each[static_cast<std::size_t>(term.source)] * term.factors.transpose().asDiagonal();
    }
    return out;
  }

  // Covariances of the newest input of a group with all its inputs, itself last.
  std::vector<Matrix<double>> with_inputs(const Group& group) const {
    const auto with_each = with_sources(group.inputs.back(), group.inputs);
    std::vector<Matrix<double>> out(group.inputs.size());
    parallel_for(std::ssize(out), [&](Index m) {
      out[static_cast<std::size_t>(m)] = with_state(with_each, group.inputs[static_cast<std::size_t>(m)]);
    });
    Matrix<double>& own = out.back();
    own = (0.5 * (own + own.transpose())).eval();
    return out;
  }

  // The group of a function, with one more input.
  Group& entered(const Function& f, const State& x) {
    auto [found, is_new] = groups.try_emplace(weights_of(f));
    Group& group = found->second;
    if (is_new) {
      group.outputs = &new_outputs();
      group.first_layer = layer->index;
      group.factor = JointFactor(tokens, n());
    }
    group.inputs.push_back(x);
    group.layers.push_back(layer->index);
    return group;
  }

  SampledAttention sampling(const Group& group, Index sub_layer) const {
    const auto& of = network.layers[static_cast<std::size_t>(sub_layer)];
    return {network, *of.attention(), sub_layer, sample, tokens, plain.seed(), options.draws, group.first_layer};
  }

  // P of all inputs of the group that have none yet.
  void draw(Group& group) {
    sampled = true;
    for (std::size_t l = group.drawn.size(); l < group.inputs.size(); ++l) {
      const std::vector<State> upto(group.inputs.begin(), group.inputs.begin() + static_cast<std::ptrdiff_t>(l) + 1);
      const auto with_each = with_sources(upto.back(), upto);
      std::vector<Matrix<double>> covariances;
      for (const State& input : upto) covariances.push_back(with_state(with_each, input));
      const Matrix<double> rows = group.factor.add(covariances);
      group.drawn.push_back(sampling(group, group.layers[l]).probabilities(rows));
    }
  }
};

SharedKernel::SharedKernel(const Network* network, const Sample* sample, KernelObserver* observer,
                           const KernelOptions& options, Index chain)
    : held_(std::make_unique<Held>(Held{*network,
                                        *sample,
                                        observer,
                                        options,
                                        Kernel(network, sample, nullptr, options, chain),
                                        Tokens(sample->n_tokens(), sample->valid),
                                        nullptr,
                                        false,
                                        {},
                                        {},
                                        {}})) {}
SharedKernel::SharedKernel(SharedKernel&&) noexcept = default;
SharedKernel::~SharedKernel() = default;

void SharedKernel::enter(const Layer& layer) { held_->layer = &layer; }

State SharedKernel::start() {
  Held& h = *held_;
  const KernelState x = h.plain.start();
  Matrix<double> k = plain(x.gram);
  for (Index i = 0; i < k.rows(); ++i) {
    for (Index j = 0; j < k.cols(); ++j) {
      const bool counts = h.sample.valid.empty() || (h.sample.valid[static_cast<std::size_t>(i)] != 0 &&
                                                     h.sample.valid[static_cast<std::size_t>(j)] != 0);
      if (!counts) k(i, j) = 0;
    }
  }
  State out;
  if (x.channel_means.size() > 0) {
    const Matrix<double> means = x.channel_means.transpose() * x.channel_means;
    k -= means;
    out.push_back(h.add_source(h.new_outputs(), {means}, true));
  }
  out.push_back(h.add_source(h.new_outputs(), {k}));
  return out;
}

State SharedKernel::norm(const Norm& norm, NormPlace /*place*/, State x) {
  Held& h = *held_;
  if (norm.kind == Norm::Kind::kLayer) {
    std::erase_if(x, [&](const Term& term) { return h.sources[static_cast<std::size_t>(term.source)].channel_mean; });
  }
  const double gain = norm.gain ? moments_of(h.network, *norm.gain).mean : 1;
  RowVector<double> factors = RowVector<double>::Constant(h.n(), gain);
  if (norm.kind != Norm::Kind::kAffine) {
    const RowVector<double> variances = h.variances(x);
    for (const Index i : h.tokens.rows()) {
      const double square = variances(i) + norm.eps;
      if (square == 0) {
        throw numerical_error("norm of a token that is zero, with eps = 0: there is nothing to divide by");
      }
      factors(i) /= std::sqrt(square);
    }
  }
  for (Term& term : x) term.factors.array() *= factors.array();
  return x;
}

State SharedKernel::apply(const Attention& attention, const State& x) {
  Held& h = *held_;
  Group& group = h.entered(Function(attention), x);
  const auto with_each = h.with_inputs(group);
  const Matrix<double>& own = with_each.back();
  const auto error = closed_error(h.network, attention, gram_of(own, h.tokens), h.tokens);
  group.closed.emplace_back();
  if (error && *error <= h.options.closed_below) group.closed.back() = key_shares(h.network, attention, own, h.tokens);
  const bool all_closed = std::ranges::all_of(group.closed, [](const auto& p) { return p.has_value(); });
  if (!all_closed) h.draw(group);

  const LinearMoments of_v = moments_of(h.network, attention.v);
  const LinearMoments of_o = moments_of(h.network, attention.o);
  std::vector<Matrix<double>> out(with_each.size());
  parallel_for(std::ssize(out), [&](Index index) {
    const auto m = static_cast<std::size_t>(index);
    Matrix<double> mixed;
    if (group.closed.back() && group.closed[m]) {
      mixed = through(
          of_v, closed_mixing(h.network, attention, *group.closed.back(), *group.closed[m], with_each[m], h.tokens),
          h.tokens);
    } else {
      const Matrix<double> values = through(of_v, with_each[m], h.tokens);
      const auto& p = group.drawn.back();
      mixed = Matrix<double>::Zero(h.n(), h.n());
      for (std::size_t head = 0; head < p.size(); ++head) {
        mixed += product<double>(false, true, product<double>(false, false, p[head], values), group.drawn[m][head]);
      }
      mixed /= static_cast<double>(p.size());
    }
    out[m] = through(of_o, mixed, h.tokens);
  });
  return {h.add_source(*group.outputs, std::move(out))};
}

State SharedKernel::apply(const Mlp& mlp, const State& x) {
  Held& h = *held_;
  Group& group = h.entered(Function(mlp), x);
  const auto with_each = h.with_inputs(group);
  const LinearMoments of_up = moments_of(h.network, mlp.up);
  const LinearMoments of_gate = mlp.gate ? moments_of(h.network, *mlp.gate) : of_up;
  const LinearMoments of_down = moments_of(h.network, mlp.down);
  group.act.emplace_back(
      mlp.act, RowVector<double>(through(of_gate, with_each.back(), h.tokens).diagonal().transpose()), h.tokens);
  std::vector<Matrix<double>> out(with_each.size());
  for (std::size_t m = 0; m < out.size(); ++m) {
    Matrix<double> inner = group.act.back().with(group.act[m], through(of_gate, with_each[m], h.tokens));
    if (mlp.gate) inner.array() *= through(of_up, with_each[m], h.tokens).array();
    out[m] = through(of_down, inner, h.tokens);
  }
  return {h.add_source(*group.outputs, std::move(out))};
}

State SharedKernel::apply(const Elementwise& elementwise, const State& /*x*/) {
  held_->plain.apply(elementwise, KernelState{});  // refuses
  return {};
}

State SharedKernel::sum(double fx, State x, double fy, const State& y) {
  return combine(fy, State(y), fx, std::move(x));
}

State SharedKernel::combine(double skip, State x, double branch, State y) {
  for (Term& term : y) term.factors *= branch;
  if (skip == 0) return y;
  for (Term& term : x) {
    term.factors *= skip;
    y.push_back(std::move(term));
  }
  return y;
}

void SharedKernel::hidden(Index state, const State& x) {
  const Held& h = *held_;
  const Matrix<double> k = h.with_state(h.with_sources(x, {x}), x);
  if (!k.allFinite()) throw numerical_error("theory: hidden state {} leaves the range of double", state);
  if (h.observer) h.observer->hidden(state, gram_of(k, h.tokens), h.tokens);
}

bool SharedKernel::sampled() const { return held_->sampled; }

double shared_kernel_size(const Network& network, Index n_tokens, Index draws) {
  const double n = static_cast<double>(n_tokens);
  double out = 0;
  std::map<FunctionWeights, double> times;
  for (const SubLayer& layer : network.layers) {
    for (const Branch& branch : layer.branches) {
      double& seen = times[weights_of(branch.f)];
      seen += 1;
      out += seen * n * n;  // covariances with every earlier output
      if (std::holds_alternative<Attention>(branch.f) && needs_draws(network)) {
        out += static_cast<double>(draws) * n * n + 2 * seen * n * n;
      }
    }
  }
  return out;
}

}  // namespace rankfall
