#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/rows.h"
#include "view/view.h"

// Rows over layers as curves: what measure and collapse are made of, and any result that has layers.

namespace rankfall {

// One metric of one model, a series for each variant. Values of several heads or seeds are one point: their mean, with
// the lowest and the highest.
struct LayerCurves {
  std::string model, metric;
  Names variants;
  Curves curves;
};

// In the order in which models and metrics first appear. Rows that are no layer rows are left out.
std::vector<LayerCurves> layer_curves(const Rows& rows);

// A heat map for each metric that has heads, a figure for each model and variant.
std::vector<Figure> head_maps(const Rows& rows);

// What became of a variant's relative residual: "keeps 0.41 of 0.60 at layer 12". precision: "float32 " or "float64 "
// or empty, put before "rounding floor".
Sentence finding(const LayerCurves& of, const std::string& variant, std::string_view precision);

// Each variant's finding.
Sentences findings(const LayerCurves& of, std::string_view precision);

}  // namespace rankfall
