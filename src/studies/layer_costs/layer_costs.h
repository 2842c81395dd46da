#pragma once

#include <vector>

#include <rankfall/export.h>
#include <rankfall/network.h>
#include <rankfall/process.h>
#include <rankfall/result.h>
#include <rankfall/variants.h>

namespace rankfall {

struct LayerCostOptions {
  // Empty: every kind with its usual numbers, as attention_names() has them.
  std::vector<AttentionChoice> attention;
  Index d_model = 768;
  Index n_heads = 12;
  Index kernel = 3;  // tokens that an output of the convolution sees
  // Ascending, at least three.
  std::vector<Index> tokens = {256, 512, 1024, 2048, 4096, 8192, 16384};
  Precision precision = Precision::kF32;
  // Calls for each layer and length; more where they are short (0.05 s in all), fewer where they are long (no further
  // one after 1 s).
  Index n_rounds = 3;

  Progress progress;
};

// What one layer costs against the number of tokens: each kind of attention without skip, norm and MLP, its four linear
// maps alone (variant `projections`), an LSTM and a convolution of the same width (`lstm`, `convolution`), on random
// states and weights. All calls of a length follow one another, length by length, round by round, so that what else the
// machine does meanwhile touches all alike. A call starts from the input in double and without memory of its own.
//
// Rows by variant and `tokens`:
//   layer.seconds     median of the calls, n their number
//   layer.memory_mb   growth of resident memory during the call, the largest of all; absent where the system does not
//                     say; input and weights are there before
//   layer.gflop       2 m n k of its products
//   layer.sequential  tokens that must be worked on one after the other, each with the one before: 1 or all
//   mixing.seconds, mixing.gflop  of attention: the layer without its projections; the time is a difference of two
//                     medians, absent where it is not positive
// and over the largest half of the lengths
//   layer.exponent    of kind seconds, memory and flops: slope of log value over log n, std its standard error, n its
//   mixing.exponent   points; of attention without projections, seconds and flops. The verdict of both is what theory
//                     says, of attention without its projections, O(n d^2).
//
// Error(kUsage) on impossible sizes, kinds and lengths; as check_memory says where it cannot fit into memory.
RANKFALL_API Result layer_costs(const LayerCostOptions& options);

}  // namespace rankfall
