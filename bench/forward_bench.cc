#include <benchmark/benchmark.h>

#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/variants.h>

// One layer of BERT-base on one sample of 128 tokens, all threads: the block, and attention alone.

namespace rankfall {
namespace {

void bm_block(benchmark::State& state) {
  const Model model = open_model("san:layers=1,heads=12,dim=768,mlp=3072", 0);
  const Network network = apply(variant_named(state.range(0) == 0 ? "full" : "san+skip"), model.network);
  const auto samples = random_samples(network, 0, state.range(1), 128);
  for (auto _ : state) benchmark::DoNotOptimize(forward<float>(network, *model.weights, samples, {}));
}

BENCHMARK(bm_block)
    ->ArgNames({"attention_only", "samples"})
    ->Args({0, 1})
    ->Args({0, 32})
    ->Args({1, 1})
    ->Args({1, 32})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace rankfall
