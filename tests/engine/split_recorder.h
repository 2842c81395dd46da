#pragma once

#include <vector>

#include <rankfall/split.h>

namespace rankfall {

// Keeps every hidden state.
class SplitRecorder final : public SplitObserver {
 public:
  void hidden(Index state, const SplitState& x) override {
    EXPECT_EQ(state, static_cast<Index>(states.size()));
    states.push_back(x);
  }
  std::vector<SplitState> states;
};

// All hidden states of the samples.
inline std::vector<SplitRecorder> tracked(const Network& network, const WeightSource& weights,
                                          std::span<const Sample> samples) {
  std::vector<SplitRecorder> recorders(samples.size());
  std::vector<SplitObserver*> observers;
  for (SplitRecorder& recorder : recorders) observers.push_back(&recorder);
  track(network, weights, samples, observers);
  return recorders;
}

}  // namespace rankfall
