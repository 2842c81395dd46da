#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input.h>
#include <rankfall/process.h>
#include <rankfall/result.h>
#include <rankfall/variants.h>

namespace rankfall {

// The networks of a result of `measure` or `collapse`.
struct Predicted {
  std::span<const std::string> models;
  const std::vector<Variant>& variants;
  std::optional<Index> depth = {};
  std::uint64_t seed = 0;
  const InputOptions& input;
};

// Adds to a result what theory predicts of its networks: a row predicted.METRIC for each metric of states that the
// result has and theory predicts, and a row `theory` for each variant that it does not carry. Of random inputs four
// samples are enough.
RANKFALL_API void add_predictions(const Predicted& of, const Progress& progress, Result& result);

}  // namespace rankfall
