#include <vector>

#include <benchmark/benchmark.h>

#include "base/random.h"

// One weight matrix of BERT-base's MLP a call; `items_per_second` counts elements.

namespace rankfall {
namespace {

constexpr std::size_t kSize = 768 * 3072;

void bm_normal(benchmark::State& state) {
  std::vector<float> out(kSize);
  for (auto _ : state) {
    fill_normal(random_key(0, "bench"), 0, out, 0.02);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<Index>(kSize));
}
BENCHMARK(bm_normal)->Unit(benchmark::kMillisecond);

void bm_truncated_normal(benchmark::State& state) {
  std::vector<float> out(kSize);
  for (auto _ : state) {
    fill_truncated_normal(random_key(0, "bench"), 0, out, 0.02);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<Index>(kSize));
}
BENCHMARK(bm_truncated_normal)->Unit(benchmark::kMillisecond);

void bm_uniform(benchmark::State& state) {
  std::vector<float> out(kSize);
  for (auto _ : state) {
    fill_uniform(random_key(0, "bench"), 0, out, 0.02);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<Index>(kSize));
}
BENCHMARK(bm_uniform)->Unit(benchmark::kMillisecond);

void bm_bits(benchmark::State& state) {
  std::vector<std::uint32_t> out(kSize);
  for (auto _ : state) {
    fill_bits(random_key(0, "bench"), 0, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<Index>(kSize));
}
BENCHMARK(bm_bits)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rankfall
