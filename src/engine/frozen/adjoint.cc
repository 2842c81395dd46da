#include <algorithm>

#include "base/mapped.h"
#include "base/parallel.h"
#include "engine/forward_impl.h"
#include "engine/frozen/freezing.h"
#include "engine/frozen/frozen_path.h"
#include "network/attention/kind.h"

namespace rankfall {
namespace {

// The domain of directions: matrices G[k] that say how the output's product with a direction depends on a state, over
// paths that cross k heads from there on. Goes backwards by step_back and notes the shares of all it passes.
class Adjoint {
 public:
  using State = std::vector<Matrix<double>>;

  Adjoint(const Network& network, const AdjointOptions& options, Index n_tokens) : by_length_(options.by_length) {
    const bool distributions = std::ranges::all_of(network.layers, [](const SubLayer& layer) {
      const Attention* attention = layer.attention();
      return !attention || has_distributions(attention->weights);
    });
    if (options.reach && distributions) reach_.emplace_back(RowVector<double>::Unit(n_tokens, *options.reach));
    const Index n_blocks = network.sizes.n_blocks;
    const Index n_lengths = by_length_ ? n_blocks + 1 : 1;
    shares_.heads.resize(static_cast<std::size_t>(n_blocks));
    shares_.mlp.setZero(n_blocks + 1, n_lengths);
    shares_.bias.setZero(n_blocks + 1, n_lengths);
  }

  void enter(const FrozenLayer& layer) { layer_ = &layer; }
  void enter_branch(Index branch) { branch_ = branch; }

  State norm_back(const Norm& norm, NormPlace place, State y) {
    const FrozenNorm frozen(*layer_, norm, place, branch_);
    if (place != NormPlace::kPre) {
      const double factor = place == NormPlace::kOut ? branch().scale : 1;
      if (const RowVector<double> shift = norm_shift(frozen); shift.size() > 0) {
        for (std::size_t k = 0; k < y.size(); ++k) {
          const auto length = static_cast<Index>(k);
          for (Index i = 0; i < y[k].rows(); ++i) {
            shares_.bias(layer_->block, length) += factor * shift.dot(y[k].row(i));
          }
        }
      }
    }
    parallel_for(std::ssize(y), [&](Index k) {
      Matrix<double>& g = y[static_cast<std::size_t>(k)];
      g = norm_transposed(frozen, std::move(g));
    });
    return y;
  }

  State apply_back(const Attention& attention, const State& z) {
    const double scale = branch().scale;
    RowVector<double> shift;
    Matrix<double> in = layer_->input;
    if (branch().in) {
      const FrozenNorm frozen(*layer_, *branch().in, NormPlace::kPre, branch_);
      in = norm_linear(frozen, std::move(in));
      shift = norm_shift(frozen);
    }
    const Matrix<double> constant = attention_constant(*layer_, attention, shift);
    reach_back();
    const Index step = by_length_ ? 1 : 0;
    const auto n = std::ssize(z);
    Matrix<double>& heads = shares_.heads[static_cast<std::size_t>(layer_->block)];
    heads.setZero(attention.n_heads, n + step);
    State x(static_cast<std::size_t>(n + step));
    if (by_length_) x[0].setZero(in.rows(), in.cols());
    parallel_for(n, [&](Index k) {
      const Matrix<double>& g = z[static_cast<std::size_t>(k)];
      heads.col(k + step) = scale * head_products(*layer_, attention, in, g).transpose();
      if (constant.rows() > 0) shares_.bias(layer_->block, k) += scale * constant.cwiseProduct(g).sum();
      x[static_cast<std::size_t>(k + step)] = attention_transposed(*layer_, attention, g);
    });
    return x;
  }
  State apply_back(const Mlp& /*mlp*/, const State& z) { return end(z); }
  State apply_back(const Elementwise& /*elementwise*/, const State& z) { return end(z); }

  State sum(double fx, State x, double fy, State y) {
    x.resize(std::max(x.size(), y.size()));
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k].rows() > 0 && fx != 1) x[k] *= fx;
      if (k >= y.size() || y[k].rows() == 0) continue;
      if (x[k].rows() == 0) {
        x[k] = fy * y[k];
      } else {
        x[k] += fy * y[k];
      }
    }
    return x;
  }

  State combine(double skip, State z, double branch, State x) {
    z.resize(std::max(z.size(), x.size()));
    for (std::size_t k = 0; k < z.size(); ++k) {
      if (k < x.size() && x[k].rows() > 0) {
        const bool alone = z[k].rows() == 0 || skip == 0;
        z[k] = alone ? Matrix<double>(branch * x[k]) : Matrix<double>(skip * z[k] + branch * x[k]);
      } else {
        z[k] *= skip;
      }
    }
    return z;
  }

  AdjointShares finish(const Matrix<double>& input, const State& g) {
    shares_.tokens.setZero(input.rows(), std::ssize(g));
    for (std::size_t k = 0; k < g.size(); ++k) {
      shares_.tokens.col(static_cast<Index>(k)) = input.cwiseProduct(g[k]).rowwise().sum();
    }
    if (!reach_.empty()) shares_.reach.setZero(input.rows(), std::ssize(reach_));
    for (std::size_t k = 0; k < reach_.size(); ++k) {
      // Every P_path is stochastic, or zero in the rows that see nothing, so the sum of a mean is one.
      const double total = reach_[k].sum();
      if (total > 0) shares_.reach.col(static_cast<Index>(k)) = reach_[k].transpose() / total;
    }
    return std::move(shares_);
  }

 private:
  // Row `reach` of the sum over paths of length k from here on, each head with weight 1/H.
  void reach_back() {
    if (reach_.empty()) return;
    const Index n = reach_[0].size();
    std::vector<RowVector<double>> next(reach_.size() + 1, RowVector<double>::Zero(n));
    for (std::size_t k = 0; k < reach_.size(); ++k) {
      if (layer_->layer->skip != 0) next[k] += reach_[k];
      for (const Matrix<double>& p : layer_->attention) {
        next[k + 1] += reach_[k] * p / static_cast<double>(layer_->attention.size());
      }
    }
    reach_ = std::move(next);
  }

  // What an MLP adds is a source of its own; nothing passes through it.
  State end(const State& z) {
    if (layer_->layer->skip == 0 && !layer_->layer->attention()) {
      for (RowVector<double>& row : reach_) row.setZero();
    }
    for (std::size_t k = 0; k < z.size(); ++k) {
      shares_.mlp(layer_->block, static_cast<Index>(k)) +=
          branch().scale * layer_->branches[static_cast<std::size_t>(branch_)].output.cwiseProduct(z[k]).sum();
    }
    return {};
  }

  const Branch& branch() const { return layer_->layer->branches[static_cast<std::size_t>(branch_)]; }

  bool by_length_;
  const FrozenLayer* layer_ = nullptr;
  Index branch_ = 0;
  AdjointShares shares_;
  std::vector<RowVector<double>> reach_;
};

// The states that enter each block.
class BlockInputs final : public FrozenObserver {
 public:
  void layer(const FrozenLayer& f) override {
    if (f.final_norm) {
      final_layer.layer(f);
    } else if (static_cast<std::size_t>(f.block) == inputs.size()) {
      inputs.push_back(f.input);
    }
  }

  std::vector<Matrix<double>> inputs;
  FrozenRecorder final_layer;
};

}  // namespace

std::vector<std::vector<AdjointShares>> adjoint_shares(const Network& network, const WeightSource& weights,
                                                       std::span<const Sample> samples, const Directions& directions,
                                                       const AdjointOptions& adjoint, const ForwardOptions& options) {
  const BlasThreads one_blas_thread(1);
  const auto n_samples = std::ssize(samples);
  const auto each_sample = [&](const auto& body) {
    parallel_for(n_samples, [&](Index s) { body(static_cast<std::size_t>(s)); });
  };
  std::vector<BlockInputs> forward(samples.size());
  const auto watch = mapped<FrozenObserver*>(forward, [](BlockInputs& inputs) { return &inputs; });
  std::vector<Matrix<double>> outputs =
      freeze(network, weights, samples, watch, input_states<double>(network, weights, samples), {});

  struct Job {
    std::vector<Adjoint> domains;  // by direction
    std::vector<Adjoint::State> states;
  };
  std::vector<Job> jobs(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (Matrix<double>& direction : directions(s, outputs[s])) {
      jobs[s].domains.emplace_back(network, adjoint, outputs[s].rows());
      jobs[s].states.emplace_back().push_back(std::move(direction));
    }
  }
  outputs.clear();
  if (network.final_norm) {
    each_sample([&](std::size_t s) {
      for (std::size_t d = 0; d < jobs[s].domains.size(); ++d) {
        jobs[s].domains[d].enter(forward[s].final_layer.layers[0]);
        jobs[s].states[d] = jobs[s].domains[d].norm_back(*network.final_norm, NormPlace::kFinal, jobs[s].states[d]);
      }
    });
  }

  LayerLoader<double> loader(network, weights, longest(samples));
  const auto n_layers = std::ssize(network.layers);
  for (Index end = n_layers; end > 0;) {
    Index first = end - 1;
    const Index block = network.layers[static_cast<std::size_t>(first)].block;
    while (first > 0 && network.layers[static_cast<std::size_t>(first - 1)].block == block) --first;
    // Forward once more, from the block's input.
    std::vector<FrozenRecorder> recorders(samples.size());
    std::vector<Matrix<double>> x(samples.size());
    for (std::size_t s = 0; s < samples.size(); ++s) x[s] = forward[s].inputs[static_cast<std::size_t>(block)];
    for (Index l = first; l < end; ++l) {
      const auto& loaded = loader.load(l);
      each_sample([&](std::size_t s) {
        Freezing domain(&samples[s], &recorders[s]);
        domain.enter(loaded);
        x[s] = step(domain, *loaded.layer, std::move(x[s]));
        domain.leave();
      });
    }
    weights.check();
    each_sample([&](std::size_t s) {
      for (std::size_t l = recorders[s].layers.size(); l-- > 0;) {
        const FrozenLayer& f = recorders[s].layers[l];
        for (std::size_t d = 0; d < jobs[s].domains.size(); ++d) {
          jobs[s].domains[d].enter(f);
          jobs[s].states[d] = step_back(jobs[s].domains[d], *f.layer, std::move(jobs[s].states[d]));
        }
      }
    });
    end = first;
    if (options.progress) options.progress(static_cast<double>(n_layers - end), static_cast<double>(n_layers), "back");
  }

  std::vector<std::vector<AdjointShares>> shares(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (std::size_t d = 0; d < jobs[s].domains.size(); ++d) {
      shares[s].push_back(jobs[s].domains[d].finish(forward[s].inputs[0], jobs[s].states[d]));
    }
  }
  return shares;
}

}  // namespace rankfall
