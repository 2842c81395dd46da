#include <benchmark/benchmark.h>

#include "base/random.h"
#include "linalg/attention_measures.h"
#include "linalg/gemm.h"
#include "linalg/norms.h"
#include "linalg/spectra.h"

// Measures of one hidden state (tokens x 768 channels) and of one head's attention (tokens x tokens).

namespace rankfall {
namespace {

template <class T>
Matrix<T> random_state(Index rows, Index columns) {
  Matrix<float> x(rows, columns);
  fill_normal(random_key(0, "bench"), 0, {x.data(), static_cast<std::size_t>(x.size())}, 1.0);
  return x.cast<T>();
}

template <class T>
void bm_centred_norms(benchmark::State& state) {
  const Matrix<T> x = random_state<T>(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(centred_norms<T>(x, {}));
}
BENCHMARK_TEMPLATE(bm_centred_norms, float)->Args({128, 768})->Args({512, 1024})->ArgNames({"tokens", "channels"});
BENCHMARK_TEMPLATE(bm_centred_norms, double)->Args({128, 768})->Args({512, 1024})->ArgNames({"tokens", "channels"});

template <class T>
void bm_cosines(benchmark::State& state) {
  const BlasThreads one(1);
  const Matrix<T> x = random_state<T>(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(cosines<T>(x, {}));
}
BENCHMARK_TEMPLATE(bm_cosines, float)->Args({128, 768})->Args({512, 1024})->ArgNames({"tokens", "channels"});

void bm_rank_measures(benchmark::State& state) {
  const BlasThreads one(1);
  const Matrix<float> x = random_state<float>(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(rank_measures<float>(x, {}));
}
BENCHMARK(bm_rank_measures)->Args({128, 768})->ArgNames({"tokens", "channels"})->Unit(benchmark::kMillisecond);

Matrix<float> random_attention(Index n) {
  Matrix<float> p = random_state<float>(n, n).array().exp();
  p.array().colwise() /= p.rowwise().sum().array().eval();
  return p;
}

void bm_attention_measures(benchmark::State& state) {
  const BlasThreads one(1);
  const Matrix<float> p = random_attention(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(attention_measures<float>(p, {}));
}
BENCHMARK(bm_attention_measures)->Arg(128)->Arg(512)->ArgName("tokens")->Unit(benchmark::kMillisecond);

void bm_dobrushin(benchmark::State& state) {
  const Matrix<float> p = random_attention(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(dobrushin<float>(p));
}
BENCHMARK(bm_dobrushin)->Arg(128)->Arg(512)->ArgName("tokens")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rankfall
