#include <gtest/gtest.h>

#include "engine/attention/kinds.h"
#include "engine/recorder.h"

namespace rankfall::attention_kinds {
namespace {

// A kernel that falls with the distance of queries and keys, from its definition.
TEST(AttentionKinds, GaussianWeightsAreThoseOfDistances) {
  const Model model = open_model("san:layers=1,heads=2,dim=8,vocab=30,std=0.6,norm=none", 4);
  const Network network = network_with(model.network, "gaussian");
  const Sample sample = random_samples(network, 1, 1, 12)[0];
  Recorder<double> recorder;
  std::vector<Observer<double>*> observers = {&recorder};
  last(network, model, sample, observers);
  const auto& a = std::get<Attention>(network.layers[0].branches[0].f);
  Opened opened(network, *model.weights);
  const auto states = opened.states(sample);
  const auto q = opened.map(a.q, states[0]);
  const auto k = opened.map(a.k, states[0]);
  for (const auto& [where, p] : recorder.attentions) {
    const auto first = static_cast<std::size_t>(where.second * a.d_head);
    for (std::size_t i = 0; i < q.size(); ++i) {
      std::vector<double> kernel(k.size());
      double sum = 0;
      for (std::size_t j = 0; j < k.size(); ++j) {
        double distance = 0;
        for (std::size_t c = first; c < first + static_cast<std::size_t>(a.d_head); ++c) {
          distance += (q[i][c] - k[j][c]) * (q[i][c] - k[j][c]);
        }
        kernel[j] = std::exp(-a.scale * distance / 2);
        sum += kernel[j];
      }
      for (std::size_t j = 0; j < k.size(); ++j) {
        EXPECT_NEAR(p(static_cast<Index>(i), static_cast<Index>(j)), kernel[j] / sum, 1e-13);
      }
    }
  }
}

}  // namespace
}  // namespace rankfall::attention_kinds
