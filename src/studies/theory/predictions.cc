#include "studies/theory/predictions.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <rankfall/theory.h>

namespace rankfall {

void add_predictions(const Predicted& of, const Progress& progress, Result& result) {
  TheoryOptions options;
  options.variants = of.variants;
  options.depth = of.depth;
  options.seed = of.seed;
  options.input = of.input;
  constexpr Index kSamples = 4;
  if (!of.input.is_given() && of.input.n_samples.value_or(kSamples) >= kSamples) options.input.n_samples = kSamples;
  options.progress = progress;
  std::set<std::string> measured;
  for (const Row& row : result.rows) {
    if (row.layer && !row.head) measured.insert(row.metric);
  }
  if (std::ranges::any_of(measured, [](const std::string& name) { return name.starts_with("gradient."); })) {
    options.metrics.emplace_back("gradient");
  }
  Result predicted = theory(of.models, options);
  for (Row& row : predicted.rows) {
    const bool is_value = row.layer && measured.contains(row.metric);
    if (!is_value && row.metric != "theory") continue;
    if (is_value) row.metric = "predicted." + row.metric;
    result.rows.push_back(std::move(row));
  }
}

}  // namespace rankfall
