#include <benchmark/benchmark.h>

#include "engine/dense/attention_impl.h"
#include "engine/layer_weights_impl.h"
#include <rankfall/model.h>

// One block of queries of one head of BERT-base's width against n keys, on one core: rows of P as a whole, or in tiles.

namespace rankfall {
namespace {

void bm_attention(benchmark::State& state) {
  const BlasThreads one_blas_thread(1);
  const bool tiled = state.range(0) != 0;
  const Index n = state.range(1);
  const Model model = open_model("san:layers=1,heads=1,dim=64", 0);
  LayerLoader<float> loader(model.network, *model.weights, n);
  const auto& layer = loader.load(0);
  const Matrix<float> q = Matrix<float>::Random(n, 64), k = Matrix<float>::Random(n, 64),
                      v = Matrix<float>::Random(n, 64);
  const HeadScores<float> scores(*layer.layer->attention(), layer, q, k, {}, {});
  for (auto _ : state) {
    Matrix<float> out(kQueryRows, 64);
    if (tiled) {
      scores.attend(0, 0, v, out, nullptr);
    } else {
      Matrix<float> p(kQueryRows, n);
      scores.probabilities(0, 0, p);
      gemm<float>(false, false, 1, p, v, 0, out);
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["ns_per_pair"] = benchmark::Counter(static_cast<double>(state.iterations() * kQueryRows * n) * 1e-9,
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK(bm_attention)
    ->ArgNames({"tiled", "n"})
    ->ArgsProduct({{0, 1}, {256, 512, 1024, 2048, 4096, 8192, 32768}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rankfall
