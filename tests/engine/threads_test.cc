#include <gtest/gtest.h>

#include "engine/recorder.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/process.h>

namespace rankfall {
namespace {

template <class T>
std::vector<Matrix<T>> last_states(const char* spec, Index n_samples, Index n_tokens, int n_threads) {
  set_threads(n_threads);
  const Model model = open_model(spec, 11);  // drawn anew, on these threads
  const auto samples = random_samples(model.network, 3, n_samples, n_tokens);
  auto states = forward<T>(model.network, *model.weights, samples, {});
  set_threads(2);
  return states;
}

// Bit for bit, for any number of threads; sizes cross the panel width, the row blocks and the chunks of drawing.
TEST(Threads, ResultsDoNotDependOnTheirNumber) {
  for (const char* spec :
       {"san:layers=2,heads=3,dim=210,mlp=400,vocab=100", "san:layers=2,heads=2,dim=64,relative=xlnet",
        "san:layers=2,heads=2,dim=32,mask=causal,norm=pre,shared=1"}) {
    for (const Index n_samples : {1, 5}) {
      const auto one_f = last_states<float>(spec, n_samples, 150, 1);
      const auto one_d = last_states<double>(spec, n_samples, 150, 1);
      for (const int n : {2, 3, 8}) {
        EXPECT_EQ(one_f, last_states<float>(spec, n_samples, 150, n)) << spec << " threads " << n;
        EXPECT_EQ(one_d, last_states<double>(spec, n_samples, 150, n)) << spec << " threads " << n;
      }
    }
  }
}

TEST(Threads, ASampleDoesNotDependOnItsNeighbours) {
  const auto alone = last_states<float>("san:layers=2,heads=3,dim=210,mlp=400,vocab=100", 1, 40, 2);
  const auto among = last_states<float>("san:layers=2,heads=3,dim=210,mlp=400,vocab=100", 5, 40, 2);
  EXPECT_EQ(alone[0], among[0]);
}

}  // namespace
}  // namespace rankfall
