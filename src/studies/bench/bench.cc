#include "studies/bench/bench.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/machine.h"
#include "base/parallel.h"
#include "engine/layer_weights.h"
#include "linalg/gemm.h"
#include "result/manifest.h"
#include "studies/layer_costs/timing.h"
#include "studies/provenance.h"
#include <rankfall/forward.h>
#include <rankfall/process.h>

namespace rankfall {
namespace {

// One product: m x n result, k summed, second factor transposed or not.
struct ProductShape {
  Index m, n, k;
  bool transposed;
  auto operator<=>(const ProductShape&) const = default;
};

double flops(const ProductShape& s) { return 2.0 * static_cast<double>(s.m * s.n * s.k); }

using ShapeCounts = std::map<ProductShape, double>;

// Products of one sample of n tokens through the network, metrics included, in whole: before any cutting into panels.
ShapeCounts shapes_of(const Network& network, Index n) {
  ShapeCounts counts;
  const auto linear = [&](const Linear& f) { counts[{n, f.n_out(), f.n_in(), !f.w.transposed}] += 1; };
  const auto products = [&](const Function& function) {
    if (const auto* a = std::get_if<Attention>(&function)) {
      for (const Linear* f : {&a->q, &a->k, &a->v, &a->o}) linear(*f);
      const double heads = static_cast<double>(a->n_heads);
      counts[{n, n, a->d_head, true}] += heads;
      counts[{n, a->d_head, n, false}] += heads;
      if (std::holds_alternative<XlnetPositions>(a->positions)) counts[{n, 2 * n - 1, a->d_head, true}] += heads;
    } else if (const auto* m = std::get_if<Mlp>(&function)) {
      linear(m->up);
      linear(m->down);
      if (m->gate) linear(*m->gate);
    }
  };
  for (const SubLayer& layer : network.layers) {
    for (const Branch& branch : layer.branches) products(branch.f);
  }
  counts[{n, n, network.sizes.d_model, true}] += static_cast<double>(network.sizes.n_blocks + 1);  // cosines
  return counts;
}

// Operands of one caller.
template <class T>
struct Operands {
  explicit Operands(const ProductShape& s)
      : a(Matrix<T>::Constant(s.m, s.k, T(1) / T(s.k))),
        b(s.transposed ? Matrix<T>::Constant(s.n, s.k, T(1)) : Matrix<T>::Constant(s.k, s.n, T(1))),
        c(Matrix<T>::Zero(s.m, s.n)) {}
  void multiply(const ProductShape& s) { gemm<T>(false, s.transposed, T(1), a, b, T(0), c); }
  Matrix<T> a, b, c;
};

// FLOP/s of BLAS on one shape: the better of one threaded call and one call per thread.
template <class T>
double peak_rate(const ProductShape& shape) {
  constexpr double kSeconds = 0.05;  // for each of the two ways
  const Index n_threads = threads();
  std::vector<Operands<T>> operands;
  for (Index i = 0; i < n_threads; ++i) operands.emplace_back(shape);
  double best = 0;
  {
    const BlasThreads all(static_cast<int>(n_threads));
    operands[0].multiply(shape);
    Index repeats = 0;
    const auto start = Clock::now();
    for (; seconds_since(start) < kSeconds; ++repeats) operands[0].multiply(shape);
    best = flops(shape) * static_cast<double>(repeats) / seconds_since(start);
  }
  const BlasThreads one(1);
  const auto each = [&](Index repeats) {
    const auto start = Clock::now();
    parallel_for(n_threads, [&](Index i) {
      for (Index r = 0; r < repeats; ++r) operands[static_cast<std::size_t>(i)].multiply(shape);
    });
    return seconds_since(start);
  };
  each(1);
  const auto repeats = static_cast<Index>(1 + kSeconds / each(1));
  return std::max(best, flops(shape) * static_cast<double>(repeats * n_threads) / each(repeats));
}

// FLOP/s of BLAS on a mix of products.
double mixed_peak(const ShapeCounts& counts, const std::map<ProductShape, double>& rates) {
  double work = 0;
  double time = 0;
  for (const auto& [shape, count] : counts) {
    work += count * flops(shape);
    time += count * flops(shape) / rates.at(shape);
  }
  return work / time;
}

// The most memory this process ever held; 0 where the system does not say.
double peak_memory_mb() {
  const auto memory = resident_memory();
  return memory ? static_cast<double>(memory->peak) / (1 << 20) : 0;
}

double weights_mb(const Network& network) {
  std::set<int> tensors;
  for (const SubLayer& layer : network.layers) {
    for (const TensorSlice& slice : slices_of(layer)) tensors.insert(slice.tensor);
  }
  double elements = 0;
  for (const int t : tensors) {
    const TensorSpec& spec = network.tensors[static_cast<std::size_t>(t)];
    elements += static_cast<double>(spec.matrix_rows()) * static_cast<double>(spec.matrix_cols());
  }
  return elements * sizeof(float) / (1 << 20);
}

struct Job {
  Variant variant;
  Index n_samples = 0;
  ShapeCounts shapes;
  std::vector<double> rates, peaks, shares;
};

Row row_of(const BenchOptions& options, const Job& job, const char* metric, double value) {
  return {.model = options.model,
          .variant = job.variant.name,
          .metric = metric,
          .mean = value,
          .n = options.n_rounds,
          .kind = fmt::format("{} sample{}", job.n_samples, job.n_samples == 1 ? "" : "s"),
          .tokens = options.n_tokens};
}

}  // namespace

Result bench(const BenchOptions& options) {
  const Model model = open_model(options.model, 0);
  std::vector<Job> jobs;
  for (const Variant& variant : paper_variants(false)) {
    jobs.push_back(
        {variant, options.n_samples, shapes_of(apply(variant, model.network), options.n_tokens), {}, {}, {}});
  }
  jobs.push_back({variant_named("full"), 1, jobs[0].shapes, {}, {}, {}});

  MeasureOptions measure_options;
  measure_options.precision = options.precision;
  const auto samples = random_samples(model.network, 0, options.n_samples, options.n_tokens);
  const auto measure_job = [&](const Job& job) {
    measure_options.variants = {job.variant};
    const std::span<const Sample> all(samples);
    return measure(model, all.first(static_cast<std::size_t>(job.n_samples)), measure_options);
  };
  const auto measure_peak = [&](const Job& job) {
    std::map<ProductShape, double> rates;
    for (const auto& [shape, count] : job.shapes) {
      rates[shape] = options.precision == Precision::kF32 ? peak_rate<float>(shape) : peak_rate<double>(shape);
    }
    return mixed_peak(job.shapes, rates);
  };
  measure_job(jobs.back());  // draws the weights, which the jobs share

  double done = 0;
  const double total = static_cast<double>(options.n_rounds) * static_cast<double>(jobs.size());
  for (Index round = 0; round < options.n_rounds; ++round) {
    for (Job& job : jobs) {
      const double peak_before = measure_peak(job);
      // A job of a few milliseconds is repeated, so that the clock and the scheduler do not decide.
      const std::uint64_t before = flops_done();
      const auto start = Clock::now();
      do {
        measure_job(job);
      } while (seconds_since(start) < 0.5);
      const double rate = static_cast<double>(flops_done() - before) / seconds_since(start);
      const double peak = (peak_before + measure_peak(job)) / 2;
      job.rates.push_back(rate / 1e9);
      job.peaks.push_back(peak / 1e9);
      job.shares.push_back(rate / peak);
      if (options.progress) options.progress(++done, total, fmt::format("round {} {}", round + 1, job.variant.name));
    }
  }

  Result result{"bench", base_manifest(), {}};
  add(result.manifest, "precision", options.precision == Precision::kF32 ? "f32" : "f64");
  add(result.manifest, "threads", std::int64_t{threads()});
  add_blas(result.manifest);
  for (const Job& job : jobs) {
    result.rows.push_back(row_of(options, job, "gflops", median(job.rates)));
    result.rows.push_back(row_of(options, job, "peak_gflops", median(job.peaks)));
    result.rows.push_back(row_of(options, job, "share_of_peak", median(job.shares)));
  }
  result.rows.push_back({.model = options.model, .metric = "memory.peak_mb", .mean = peak_memory_mb()});
  result.rows.push_back({.model = options.model, .metric = "memory.weights_mb", .mean = weights_mb(model.network)});
  return result;
}

}  // namespace rankfall
