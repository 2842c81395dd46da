#pragma once

#include <algorithm>

#include "base/errors.h"
#include "engine/dense/dense_impl.h"
#include "engine/input_map_impl.h"
#include "engine/run.h"
#include <rankfall/forward.h>
#include <rankfall/matrix.h>

namespace rankfall {

inline Index longest(std::span<const Sample> samples) {
  Index n = 1;
  for (const Sample& sample : samples) n = std::max(n, sample.n_tokens());
  return n;
}

// Hidden state 0 of every sample.
template <class T>
std::vector<Matrix<T>> input_states(const Network& network, const WeightSource& weights,
                                    std::span<const Sample> samples) {
  for (const Sample& sample : samples) check_sample(network, sample);
  const LayerWeights<T> stages(stage_slices(network.input), network.tensors, weights);
  std::vector<Matrix<T>> states(samples.size());
  parallel_for(std::ssize(samples), [&](Index s) {
    const auto i = static_cast<std::size_t>(s);
    states[i] = input_state<T>(network, weights, stages, samples[i]);
  });
  weights.check();
  return states;
}

// Runs a domain for each sample from the given states on, final norm included. `observers` is empty or has one for each
// sample.
template <Domain D, class Watcher>
void run_samples(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                 std::span<Watcher* const> observers, std::span<typename D::State> states,
                 const ForwardOptions& options) {
  std::vector<D> domains;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    domains.emplace_back(&samples[s], observers.empty() ? nullptr : observers[s]);
  }
  run<D>(network, weights, states, domains, longest(samples), options);
  if (!network.final_norm) return;
  const LayerWeights<typename D::Scalar> norm_weights(slices_of(*network.final_norm), network.tensors, weights);
  parallel_for(std::ssize(samples), [&](Index s) {
    const auto i = static_cast<std::size_t>(s);
    states[i] = domains[i].norm_with(norm_weights, *network.final_norm, NormPlace::kFinal, std::move(states[i]));
    if (network.final_norm_in_state) domains[i].hidden(network.sizes.n_blocks, states[i]);
  });
  weights.check();
}

inline void check_observers(std::size_t n_observers, std::size_t n_samples) {
  if (n_observers == 0 || n_observers == n_samples) return;
  throw usage_error("{} observers for {} samples", n_observers, n_samples);
}

template <class T>
std::vector<Matrix<T>> forward(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                               std::span<Observer<T>* const> observers, const ForwardOptions& options) {
  check_observers(observers.size(), samples.size());
  const BlasThreads one_blas_thread(1);
  std::vector<Matrix<T>> states = input_states<T>(network, weights, samples);
  run_samples<Dense<T>, Observer<T>>(network, weights, samples, observers, states, options);
  return states;
}

template <class T>
std::vector<Matrix<T>> apply_head(const Network& network, const WeightSource& weights,
                                  std::span<const Matrix<T>> last_states) {
  if (!network.head) throw usage_error("the {} network has no head", network.family);
  const BlasThreads one_blas_thread(1);
  const LayerWeights<T> head(slices_of(*network.head), network.tensors, weights);
  std::vector<Matrix<T>> outputs(last_states.size());
  parallel_for(std::ssize(last_states), [&](Index s) {
    const auto i = static_cast<std::size_t>(s);
    outputs[i] = linear<T>(last_states[i], head.matrix(network.head->w), head.vector(network.head->b));
  });
  weights.check();
  return outputs;
}

}  // namespace rankfall
