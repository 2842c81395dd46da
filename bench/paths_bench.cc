
#include <benchmark/benchmark.h>

#include "seconds.h"
#include <rankfall/decompose.h>
#include <rankfall/model.h>
#include <rankfall/variants.h>

// The path decomposition against forward passes of attention alone in double, side by side in one run: `passes` is what
// it costs in such passes. And all single paths with shared prefixes against each path by itself.

namespace rankfall {
namespace {

// Every tensor drawn, so that biases are there.
Model drawn(const std::string& spec) {
  Model model = open_model(spec, 0);
  for (TensorSpec& tensor : model.network.tensors) {
    if (tensor.init.kind == Init::Kind::kConstant && tensor.init.scale == 0) {
      tensor.init = {Init::Kind::kUniform, 0.02};
    }
  }
  model.weights = draw_weights(model.network.tensors, 0);
  return model;
}

void compare(benchmark::State& state, const char* variant, Origins origins, Index n_samples) {
  const Model model = drawn("san:layers=12,heads=12,dim=768,mlp=3072");
  const Network attention = apply(variant_named("san+skip"), model.network);
  const Network network = apply(variant_named(variant), model.network);
  const auto samples = random_samples(network, 0, n_samples, 128);
  forward<double>(network, *model.weights, samples, {});  // draws the weights
  double pass = 0;
  double paths = 0;
  for (auto _ : state) {
    pass += seconds([&] { benchmark::DoNotOptimize(forward<double>(attention, *model.weights, samples, {})); });
    const double once =
        seconds([&] { benchmark::DoNotOptimize(decompose(network, *model.weights, samples, origins, {})); });
    paths += once;
    state.SetIterationTime(once);
  }
  state.counters["passes"] = paths / pass;
}

void bm_attention_only(benchmark::State& state) { compare(state, "san+skip", Origins::kEmbedding, state.range(0)); }
void bm_three_origins(benchmark::State& state) { compare(state, "full", Origins::kMerged, state.range(0)); }
void bm_origins_by_block(benchmark::State& state) { compare(state, "full", Origins::kByBlock, state.range(0)); }
BENCHMARK(bm_attention_only)
    ->ArgNames({"samples"})
    ->Arg(1)
    ->Arg(4)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK(bm_three_origins)
    ->ArgNames({"samples"})
    ->Arg(1)
    ->Arg(4)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK(bm_origins_by_block)
    ->ArgNames({"samples"})
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(2);

// All 4^8 = 65,536 paths of a toy model; plain: each by itself, from the input on.
void bm_enumeration(benchmark::State& state) {
  const Model model = open_model("san:layers=8,heads=3,dim=24,norm=post", 0);
  const auto samples = random_samples(model.network, 0, 1, 8);
  std::vector<std::vector<Path>> some(1);
  double n_paths = 0;
  double shared = 0;
  double plain = 0;
  for (auto _ : state) {
    n_paths = 0;
    some[0].clear();
    const double once = seconds([&] {
      enumerate(
          model.network, *model.weights, samples,
          [](const Path&, std::span<const CentredMatrix> terms) {
            return std::vector<double>{terms[0].residual.norm()};
          },
          [&](const Path& path, std::span<const double>) {
            if (static_cast<Index>(n_paths++) % 64 == 0) some[0].push_back(path);
          });
    });
    shared += once / n_paths;
    plain += seconds([&] { benchmark::DoNotOptimize(follow(model.network, *model.weights, samples, some)); }) /
             static_cast<double>(some[0].size());
    state.SetIterationTime(once);
  }
  state.counters["paths_per_second"] = static_cast<double>(state.iterations()) / shared;
  state.counters["times_plain"] = plain / shared;
}
BENCHMARK(bm_enumeration)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(5);

}  // namespace
}  // namespace rankfall
