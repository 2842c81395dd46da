
#include <benchmark/benchmark.h>
#include <boost/multiprecision/eigen.hpp>
#include <boost/multiprecision/mpfr.hpp>

#include "engine/dense/activation_impl.h"
#include "engine/forward_impl.h"
#include "linalg/gemm_impl.h"
#include "seconds.h"
#include <rankfall/model.h>
#include <rankfall/split.h>
#include <rankfall/variants.h>

// Exact collapse tracking against the same variant in plain double, side by side in one run: `times_double` is what
// tracking costs. And against the only other way to see the same numbers, plain arithmetic with many digits.

namespace rankfall {
namespace {

void compare(benchmark::State& state, const std::string& spec, const char* variant, Index n_samples, Index n_tokens) {
  const Model model = open_model(spec, 0);
  const Network network = apply(variant_named(variant), model.network);
  const auto samples = random_samples(network, 0, n_samples, n_tokens);
  forward<double>(network, *model.weights, samples, {});  // draws the weights
  double plain = 0;
  double split = 0;
  for (auto _ : state) {
    plain += seconds([&] { benchmark::DoNotOptimize(forward<double>(network, *model.weights, samples, {})); });
    const double once = seconds([&] { benchmark::DoNotOptimize(track(network, *model.weights, samples, {})); });
    split += once;
    state.SetIterationTime(once);
  }
  state.counters["times_double"] = split / plain;
}

const char* const kVariants[] = {"full", "san", "san+mlp", "san+skip"};

void bm_bert_base(benchmark::State& state) {
  compare(state, "san:layers=3,heads=12,dim=768,mlp=3072", kVariants[state.range(0)], state.range(1), 128);
}
BENCHMARK(bm_bert_base)
    ->ArgNames({"variant", "samples"})
    ->ArgsProduct({{0, 1, 2, 3}, {1, 8}})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

void bm_xlnet_base(benchmark::State& state) {
  compare(state, "san:layers=3,heads=12,dim=768,mlp=3072,relative=xlnet", kVariants[state.range(0)], 8, 128);
}
BENCHMARK(bm_xlnet_base)->ArgNames({"variant"})->ArgsProduct({{0, 1}})->Unit(benchmark::kMillisecond)->UseManualTime();

void bm_long_input(benchmark::State& state) {
  compare(state, "san:layers=1,heads=12,dim=768,mlp=3072", kVariants[state.range(0)], 2, 1024);
}
BENCHMARK(bm_long_input)->ArgNames({"variant"})->ArgsProduct({{0, 1}})->Unit(benchmark::kMillisecond)->UseManualTime();

// 1,000 digits see a residual down to 10^-1000 of the mean: six or seven layers of pure attention.
void bm_multiprecision(benchmark::State& state) {
  using Mp =
      boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<1000>, boost::multiprecision::et_off>;
  const Model model = open_model("san:layers=6,heads=4,dim=64,norm=none", 0);
  const Network network = apply(variant_named("san"), model.network);
  const auto samples = random_samples(network, 0, 2, 16);
  double many = 0;
  double split = 0;
  for (auto _ : state) {
    for (int i = 0; i < 100; ++i) {
      split += seconds([&] { benchmark::DoNotOptimize(track(network, *model.weights, samples, {})); }) / 100;
    }
    const double once =
        seconds([&] { benchmark::DoNotOptimize(forward<Mp>(network, *model.weights, samples, {}, {})); });
    many += once;
    state.SetIterationTime(once);
  }
  state.counters["times_split"] = many / split;
}
BENCHMARK(bm_multiprecision)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(3);

}  // namespace
}  // namespace rankfall
