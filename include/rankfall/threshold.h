#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/result.h>

namespace rankfall {

// A condition that must not hold, as in `--fail-if 'san:relative_residual.composite@2>0.1'`:
//
//   [VARIANT:]METRIC[@LAYER] COMPARISON VALUE      LAYER: a number or `last`      COMPARISON: > < >= <=
struct Threshold {
  enum class Comparison { kGreater, kLess, kGreaterEqual, kLessEqual };

  std::string variant;  // empty: every variant
  std::string metric;
  std::optional<Index> layer;  // absent: every layer, or the last
  bool last_layer = false;     // the last layer of each model and variant
  Comparison comparison = Comparison::kGreater;
  double value = 0;

  bool operator==(const Threshold&) const = default;
};

// Throws Error kUsage when the text is not such a condition.
RANKFALL_API Threshold parse_threshold(std::string_view text);

// The condition in the form parse_threshold reads.
RANKFALL_API std::string to_string(const Threshold& threshold);

// Throws Error kUsage if no result of this command, with these variants, can decide the condition: metric or variant
// are unknown there, or the metric's rows have no layer. To be asked before the long computation. The number of layers
// is known only to the result.
RANKFALL_API void check_decidable(const Threshold& threshold, std::string_view command,
                                  const std::vector<std::string>& variants);

// The rows for which the condition holds, in order. Rows of single seeds count only where a model has no rows over all
// seeds; each head's row counts by itself. A condition that no row can decide (metric, variant or layer does not occur,
// or no value is present) throws Error kUsage that says what occurs: a threshold never passes because nothing was
// looked at.
RANKFALL_API std::vector<Row> violations(const Threshold& threshold, const Result& result);

}  // namespace rankfall
