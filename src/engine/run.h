#pragma once

#include <atomic>
#include <span>
#include <thread>

#include "engine/layer_loader.h"
#include "engine/step.h"
#include <rankfall/forward.h>

namespace rankfall {

// What gives a domain its sub-layers one by one: loaded, unless the domain says otherwise.
template <class D>
struct LoaderOf {
  using type = LayerLoader<typename D::Scalar>;
};
template <class D>
requires requires { typename D::Loader; }
struct LoaderOf<D> {
  using type = typename D::Loader;
};

// 2 m n k of the products of one sample through a sub-layer: what progress is measured in.
double flops_of(const SubLayer& layer, Index n_tokens);

// Takes each state through the network: layers outside, samples in parallel inside, a domain for each sample. States
// and domains correspond. A domain that has leave() is told when a sub-layer is done. Final norms are the caller's,
// since they belong to no block; `hidden` is called for states 0..L-1 and, unless the network has a final norm that
// belongs to state L, for L.
template <Domain D>
void run(const Network& network, const WeightSource& source, std::span<typename D::State> states, std::span<D> domains,
         Index max_tokens, const ForwardOptions& options) {
  typename LoaderOf<D>::type loader(network, source, max_tokens);
  const Index n_samples = std::ssize(states);
  double total = 0;
  for (const SubLayer& layer : network.layers) total += flops_of(layer, max_tokens);
  double done = 0;

  const auto each = [&](const auto& body) {
    parallel_for(n_samples, [&](Index s) {
      const auto i = static_cast<std::size_t>(s);
      body(domains[i], states[i]);
    });
  };
  const bool hold_last = network.final_norm && network.final_norm_in_state;
  const auto finished = [&](Index state) {
    if (state == network.sizes.n_blocks && hold_last) return;
    each([&](D& d, typename D::State& x) { d.hidden(state, x); });
  };

  // Between samples, too: a sub-layer of many samples takes minutes, and whoever ends the job does not want to wait.
  const auto caller = std::this_thread::get_id();
  std::atomic<Index> n_through{0};
  std::atomic<bool> stopped{false};
  const auto report = [&](const SubLayer& layer) {
    const double share = static_cast<double>(++n_through) / static_cast<double>(n_samples);
    if (!options.progress || std::this_thread::get_id() != caller) return;
    try {
      options.progress(done + share * flops_of(layer, max_tokens), total, "forward pass");
    } catch (...) {
      stopped = true;
      throw;
    }
  };

  finished(0);
  Index block = 0;
  for (Index l = 0; l < std::ssize(network.layers); ++l) {
    const auto& loaded = loader.load(l);
    for (; block < loaded.layer->block; ++block) finished(block + 1);
    n_through = 0;
    each([&](D& d, typename D::State& x) {
      if (stopped) return;
      d.enter(loaded);
      x = step(d, *loaded.layer, std::move(x));
      if constexpr (requires { d.leave(); }) d.leave();
      report(*loaded.layer);
    });
    source.check();
    done += flops_of(*loaded.layer, max_tokens);
    if (options.progress) options.progress(done, total, "forward pass");
  }
  for (; block < network.sizes.n_blocks; ++block) finished(block + 1);
}

}  // namespace rankfall
