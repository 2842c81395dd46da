// sample.h: inputs made by hand: token ids, features, or the state that enters the first block.
#include <cstdio>
#include <vector>

#include <rankfall/forward.h>

int main() {
  const rankfall::Model model = rankfall::open_model("bert-tiny@init", 0);
  std::vector<rankfall::Sample> samples(2);
  samples[0].content = rankfall::TokenIds{101, 7592, 2088, 102};
  samples[0].valid = {1, 1, 1, 0};  // the last one is padding
  samples[1].content = rankfall::HiddenState{rankfall::Matrix<double>::Random(5, model.network.sizes.d_model)};
  for (const rankfall::Sample& sample : samples) rankfall::check_sample(model.network, sample);
  const auto last = rankfall::forward<double>(model.network, *model.weights, samples, {});
  std::printf("%ld and %ld tokens went through\n", static_cast<long>(last[0].rows()),
              static_cast<long>(last[1].rows()));
}
