#pragma once

#include <string>

#include <rankfall/export.h>
#include <rankfall/measure.h>

namespace rankfall {

struct BenchOptions {
  std::string model = "bert-base@init";
  Index n_samples = 32;
  Index n_tokens = 128;
  Precision precision = Precision::kF32;
  // Peak and job alternate this many times; medians are reported.
  Index n_rounds = 5;

  Progress progress;
};

// Speed of `measure` (the paper's four variants, default metrics), and of the full network on a single sample, as a
// share of what this machine's BLAS does on the same products in the same minute. Rows by variant, `kind` = number of
// samples:
//   gflops         2 m n k of all products of the job, divided by its time
//   peak_gflops    the same products by BLAS alone: for each shape the better of one call on all threads and one call
//   per
//                  thread at once, weighted as in the job; mean of just before and just after it
//   share_of_peak  median over rounds of their ratio
// and, for the process: memory.peak_mb, memory.weights_mb (all tensors of the layers in the storage type).
RANKFALL_API Result bench(const BenchOptions& options);

}  // namespace rankfall
