#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/layer_block.h"

namespace rankfall {

// What became of a variant's relative residual, in a sentence without a subject: "keeps 0.41 of 0.60 at layer 12".
struct Finding {
  enum class Fate { kKeeps, kFalls, kDies, kUnknown };
  Fate fate = Fate::kUnknown;
  std::string sentence;
};

// precision: "float32 " or "float64 " or empty, put before "rounding floor".
Finding finding(const LayerBlock& block, std::size_t variant, std::string_view precision, bool unicode);

}  // namespace rankfall
