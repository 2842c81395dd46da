
#include <benchmark/benchmark.h>

#include "linalg/minimiser.h"
#include "linalg/norms.h"
#include "seconds.h"

// The smallest residual of a state, with its certificate, beside the residual about the mean: `times_mean` is what it
// costs, `gap` what is left between value and lower bound.

namespace rankfall {
namespace {

void bm_minimiser(benchmark::State& state) {
  std::srand(1);
  Matrix<double> x = Matrix<double>::Random(state.range(0), state.range(1));
  if (state.range(2) != 0) x.topRows(2).array() += 5;  // two tokens far off, as attention sinks are
  double mean = 0;
  double minimiser = 0;
  MinimisedNorms m;
  for (auto _ : state) {
    for (int i = 0; i < 20; ++i) {
      mean += seconds([&] { benchmark::DoNotOptimize(centred_norms<double>(x, {})); }) / 20;
    }
    const double once = seconds([&] { m = minimised_norms<double>(x, {}); });
    minimiser += once;
    state.SetIterationTime(once);
  }
  state.counters["times_mean"] = minimiser / mean;
  state.counters["gap_inf"] = m.inf.gap();
  state.counters["gap_composite"] = m.composite.gap();
}
BENCHMARK(bm_minimiser)
    ->ArgNames({"tokens", "width", "outliers"})
    ->Args({128, 768, 0})
    ->Args({128, 768, 1})
    ->Args({512, 768, 0})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(3);

}  // namespace
}  // namespace rankfall
