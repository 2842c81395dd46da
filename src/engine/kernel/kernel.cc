#include "engine/kernel/kernel.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/random.h"
#include "engine/forward_impl.h"
#include "engine/kernel/carried.h"
#include "engine/kernel/closed_attention.h"
#include "engine/kernel/kernel_activation.h"
#include "engine/kernel/kernel_input.h"
#include "engine/kernel/kernel_norm.h"
#include "engine/kernel/moments.h"
#include "engine/kernel/sampled_attention.h"
#include "engine/kernel/shared_kernel.h"
#include "linalg/gemm.h"

namespace rankfall {
namespace {

bool is_finite(const Gram& k) {
  return !std::isnan(k.log_mean) && k.log_mean != -kLogZero && k.cross.value.allFinite() && k.rest.value.allFinite() &&
         !std::isnan(k.cross.log) && k.cross.log != -kLogZero && !std::isnan(k.rest.log) && k.rest.log != -kLogZero;
}

Gram through(const Network& network, const Linear& linear, Gram k) {
  const LinearMoments moments = moments_of(network, linear);
  scale(k, moments.factor);
  add_bias(k, moments.bias);
  return k;
}

}  // namespace

Kernel::Kernel(const Network* network, const Sample* sample, KernelObserver* observer, const KernelOptions& options,
               Index chain)
    : network_(*network),
      sample_(*sample),
      observer_(observer),
      options_(options),
      seed_(random_key(options.seed, fmt::format("theory, chain {}", chain)).value),
      tokens_(sample->n_tokens(), sample->valid) {}

Kernel::State Kernel::start() {
  const Gram source = source_gram(network_, sample_, tokens_);
  if (std::holds_alternative<HiddenState>(sample_.content)) {
    return {source, channel_means_of(std::get<HiddenState>(sample_.content), tokens_)};
  }
  State x{source, {}};
  for (const auto& stage : network_.input.stages) {
    if (const auto* linear = std::get_if<Linear>(&stage)) {
      x.gram = through(network_, *linear, std::move(x.gram));
    } else if (const auto* of_norm = std::get_if<Norm>(&stage)) {
      x = norm(*of_norm, NormPlace::kFinal, std::move(x));
    } else if (const auto* act = std::get_if<Activation>(&stage)) {
      x.gram = gram_of(activated(*act, distances_of(x.gram, tokens_), tokens_), tokens_);
    } else {
      const double factor = std::get<Factor>(stage).value;
      scale(x.gram, factor * factor);
    }
  }
  return x;
}

Kernel::State Kernel::norm(const Norm& norm, NormPlace /*place*/, State x) {
  if (norm.kind == Norm::Kind::kLayer && x.channel_means.size() > 0) {
    x.gram = without_channel_means(std::move(x.gram), x.channel_means, tokens_);
    x.channel_means.resize(0);
  }
  const NormMoments moments = moments_of(network_, norm);
  if (norm.kind != Norm::Kind::kAffine) x.gram = normalised(norm.eps, x.gram, tokens_);
  scale(x.gram, moments.gain);
  add_bias(x.gram, moments.bias);
  return x;
}

Kernel::State Kernel::apply(const Attention& attention, const State& x) {
  const auto error = closed_error(network_, attention, x.gram, tokens_);
  Gram mixed;
  if (error && *error <= options_.closed_below) {
    mixed = through(network_, attention.v, closed_mixing(network_, attention, x.gram, tokens_));
  } else {
    SampledAttention sampled{network_, attention, layer_->index,  sample_,
                             tokens_,  seed_,     options_.draws, layer_->index};
    mixed = sampled.mixing(x.gram);
    sampled_ = true;
  }
  return {through(network_, attention.o, std::move(mixed)), {}};
}

Kernel::State Kernel::apply(const Mlp& mlp, const State& x) {
  const Distances up = distances_of(through(network_, mlp.up, x.gram), tokens_);
  Distances inner;
  if (mlp.gate) {
    const Distances gate = distances_of(through(network_, *mlp.gate, x.gram), tokens_);
    inner = product_of(activated(mlp.act, gate, tokens_), up, tokens_);
  } else {
    inner = activated(mlp.act, up, tokens_);
  }
  return {through(network_, mlp.down, gram_of(inner, tokens_)), {}};
}

Kernel::State Kernel::apply(const Elementwise& /*elementwise*/, const State& /*x*/) {
  throw usage_error("theory does not carry an activation of the hidden state itself, without weights");
}

Kernel::State Kernel::sum(double fx, State x, double fy, const State& y) {
  return combine(fy, State(y), fx, std::move(x));
}

Kernel::State Kernel::combine(double skip, State x, double branch, State y) {
  scale(y.gram, branch * branch);
  if (skip != 0) {
    scale(x.gram, skip * skip);
    add(y.gram, x.gram);
    if (x.channel_means.size() > 0) y.channel_means = skip * x.channel_means;
  }
  return y;
}

void Kernel::hidden(Index state, const State& x) {
  if (!is_finite(x.gram)) throw numerical_error("theory: hidden state {} leaves the range of double", state);
  if (observer_) observer_->hidden(state, x.gram, tokens_);
}

bool needs_draws(const Network& network) {
  for (const SubLayer& layer : network.layers) {
    const Attention* attention = layer.attention();
    if (attention && !closed_error(network, *attention, zero_gram(1), Tokens(1, {}))) return true;
  }
  return false;
}

namespace {

// Returns whether anything was drawn.
template <class D>
bool run_domain(const Network& network, std::span<const Sample> samples, Index n_chains,
                std::span<KernelObserver* const> observers, const KernelOptions& options, const Progress& progress) {
  const auto weights = draw_weights(network.tensors, options.seed);  // nothing asks for them
  std::vector<D> domains;
  std::vector<typename D::State> states(samples.size() * static_cast<std::size_t>(n_chains));
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (Index c = 0; c < n_chains; ++c) {
      const std::size_t place = s * static_cast<std::size_t>(n_chains) + static_cast<std::size_t>(c);
      domains.emplace_back(&network, &samples[s], observers.empty() ? nullptr : observers[place], options, c);
    }
  }
  parallel_for(std::ssize(domains), [&](Index i) {
    const auto place = static_cast<std::size_t>(i);
    states[place] = domains[place].start();
  });
  run<D>(network, *weights, states, domains, longest(samples), {.progress = progress});
  if (network.final_norm) {
    parallel_for(std::ssize(domains), [&](Index i) {
      const auto place = static_cast<std::size_t>(i);
      states[place] = domains[place].norm(*network.final_norm, NormPlace::kFinal, std::move(states[place]));
      if (network.final_norm_in_state) domains[place].hidden(network.sizes.n_blocks, states[place]);
    });
  }
  return std::ranges::any_of(domains, &D::sampled);
}

}  // namespace

KernelRun run_kernel(const Network& network, std::span<const Sample> samples, Index n_chains,
                     std::span<KernelObserver* const> observers, const KernelOptions& options,
                     const Progress& progress) {
  const BlasThreads one_blas_thread(1);
  for (const Sample& sample : samples) check_sample(network, sample);
  if (shares_weights(network)) {
    return {run_domain<SharedKernel>(network, samples, n_chains, observers, options, progress), kSharedFloor};
  }
  return {run_domain<Kernel>(network, samples, n_chains, observers, options, progress), -INFINITY};
}

}  // namespace rankfall
