#pragma once

#include <span>
#include <string>
#include <vector>

#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/process.h>
#include <rankfall/sample.h>
#include <rankfall/split.h>

namespace rankfall {

// One sample: norms of every state.
using Curve = std::vector<SplitNorms>;

// What a plain precision shows, and from which layer on it is rounding; the layer is L + 1 if never.
struct FloatRun {
  const char* kind = "";
  std::vector<Curve> curves;  // empty: it failed
  std::string failure;
  Index rounding_layer = 0;
};

// Of one network, by sample and state.
struct CollapseCurves {
  std::vector<Curve> exact;
  // What double leaves uncertain in log10 of the residual and of the relative residual, in the norm that suffers most:
  // from the distances between these curves and those with jitter. Infinity where nothing is known; never falls.
  std::vector<std::vector<double>> errors;
  std::vector<FloatRun> floats;  // f32, f64, or none
};

// Requires at least one sample and one draw of jitter.
CollapseCurves collapse_curves(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                               bool floats, Index error_draws, const Progress& progress);

}  // namespace rankfall
