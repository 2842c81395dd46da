#pragma once

#include <array>
#include <span>
#include <vector>

#include "studies/paths/path_views.h"
#include <rankfall/decompose.h>
#include <rankfall/matrix.h>

namespace rankfall {

// What is said of a single path, in this order.
inline constexpr std::array kPathNumbers = {"path.norm.frobenius", "path.relative_norm.frobenius",
                                            "path.share.projection", "path.share.residual"};

// These numbers, means over the samples that have them; NaN if none has. `samples` must outlive it. Thread-safe.
class PathSummary {
 public:
  PathSummary(std::span<const Sample> samples, std::span<const Matrix<double>> outputs);
  std::vector<double> operator()(std::span<const CentredMatrix> terms) const;

 private:
  std::span<const Sample> samples_;
  std::vector<Whole> wholes_;
};

Row path_row(const Path& path, const char* metric, double value);

}  // namespace rankfall
