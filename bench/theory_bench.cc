#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <rankfall/model.h>
#include <rankfall/sample.h>
#include <rankfall/theory.h>
#include <rankfall/variants.h>

// Predictions, everything included that `rankfall theory MODEL --samples 1` does for one variant: the recursion, and
// the metrics of states drawn from it.

namespace rankfall {
namespace {

void predict(benchmark::State& state, const std::string& spec, const char* variant, Index n_tokens,
             TheoryMethod method) {
  const Model model = open_model(spec, 0);
  const std::vector<Sample> samples = random_samples(model.network, 0, 1, n_tokens);
  TheoryOptions options;
  options.variants = {variant_named(variant)};
  options.method = method;
  for (auto _ : state) benchmark::DoNotOptimize(theory(model, samples, options));
}

void bm_bert_base_closed(benchmark::State& state) {
  predict(state, "bert-base@init", "full", state.range(0), TheoryMethod::kAuto);
}
BENCHMARK(bm_bert_base_closed)
    ->ArgName("tokens")
    ->Arg(32)
    ->Arg(128)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void bm_bert_base_sampled(benchmark::State& state) {
  predict(state, "bert-base@init", "full", state.range(0), TheoryMethod::kSampled);
}
BENCHMARK(bm_bert_base_sampled)->ArgName("tokens")->Arg(32)->Arg(128)->Unit(benchmark::kMillisecond)->UseRealTime();

// A causal mask is always sampled.
void bm_causal_sampled(benchmark::State& state) {
  predict(state, "san:layers=12,heads=12,dim=768,mlp=3072,mask=causal,norm=pre", "full", 128, TheoryMethod::kSampled);
}
BENCHMARK(bm_causal_sampled)->Unit(benchmark::kMillisecond)->UseRealTime();

void bm_shared_weights(benchmark::State& state) {
  predict(state, "albert-base@init", "full", 128, TheoryMethod::kAuto);
}
BENCHMARK(bm_shared_weights)->Unit(benchmark::kMillisecond)->UseRealTime();

void bm_thousand_layers(benchmark::State& state) {
  predict(state, "san:layers=1000,heads=8,dim=512", state.range(0) == 0 ? "full" : "san", 32, TheoryMethod::kAuto);
}
BENCHMARK(bm_thousand_layers)->ArgName("san")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace rankfall
