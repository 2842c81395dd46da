#include <benchmark/benchmark.h>

#include "engine/dense/activation.h"
#include "linalg/linear.h"

// Shapes of BERT-base: 128 tokens through 768 x 768, 768 x 3072 and 3072 x 768.

namespace rankfall {
namespace {

struct Operands {
  Operands(Index n, Index in, Index out)
      : x(Matrix<float>::Random(n, in)), w(Matrix<float>::Random(out, in)), y(n, out) {}
  WeightView<float> view() const { return {{w.data(), w.rows(), w.cols(), Eigen::OuterStride<>(w.cols())}, false}; }
  Matrix<float> x, w, y;
};

void count(benchmark::State& state) {
  state.counters["flops"] =
      benchmark::Counter(2e0 * static_cast<double>(state.range(0)) * static_cast<double>(state.range(1)) *
                             static_cast<double>(state.range(2)),
                         benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

// One call for the whole result.
void bm_gemm_whole(benchmark::State& state) {
  const BlasThreads one(1);
  Operands o(state.range(0), state.range(1), state.range(2));
  for (auto _ : state) gemm<float>(false, true, 1, o.x, o.w, 0, o.y);
  count(state);
}

// The same cut into panels of kPanelColumns, on one thread: what cutting costs.
void bm_gemm_panels(benchmark::State& state) {
  const BlasThreads one(1);
  Operands o(state.range(0), state.range(1), state.range(2));
  const VectorView<float> none(nullptr, 0);
  for (auto _ : state) {
    for (Index p = 0; p < n_panels(o.w.rows()); ++p) linear_panel<float>(o.x, o.view(), none, p, o.y);
  }
  count(state);
}

void bm_activation(benchmark::State& state) {
  Matrix<float> x = Matrix<float>::Random(128, 3072);
  for (auto _ : state) {
    Matrix<float> y = x;
    activate<float>(static_cast<Activation>(state.range(0)), y);
    benchmark::DoNotOptimize(y.data());
  }
  state.SetItemsProcessed(state.iterations() * x.size());
}

#define RANKFALL_BERT_SHAPES \
  ArgNames({"tokens", "in", "out"})->Args({128, 768, 768})->Args({128, 768, 3072})->Args({128, 3072, 768})
BENCHMARK(bm_gemm_whole)->RANKFALL_BERT_SHAPES;
BENCHMARK(bm_gemm_panels)->RANKFALL_BERT_SHAPES;
BENCHMARK(bm_activation)
    ->ArgName("activation")
    ->Arg(static_cast<int>(Activation::kRelu))
    ->Arg(static_cast<int>(Activation::kGelu))
    ->Arg(static_cast<int>(Activation::kGeluTanh));

}  // namespace
}  // namespace rankfall
