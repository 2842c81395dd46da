#pragma once

#include <optional>
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
  bool over_seeds = false;  // points are means over seeds, not over samples
};

// "arithmetic mean over 32 samples"; empty where points are over different numbers of them.
std::string mean_of_points(const LayerCurves& of);

// Whether a metric is about another one that it stands beside: published.value, predicted.cosine.mean ...
bool stands_beside(std::string_view metric);

// A point of a published or predicted curve, which is not about the result's own values.
inline bool is_beside(const Point& point) { return point.source == "published" || point.source == "predicted"; }

// In the order in which models and metrics first appear. Rows that are no layer rows are left out.
std::vector<LayerCurves> layer_curves(const Rows& rows);

// A heat map for each metric that has heads, a figure for each model and variant.
std::vector<Figure> head_maps(const Rows& rows);

// The fate of a variant's relative residual, from the first layer to the last.
struct Fate {
  double first = 0, last = 0, first_layer = 0, last_layer = 0;
  std::optional<double> floor_since;  // the layer from which on it is rounding alone
  std::optional<double> touched;      // the first layer at which it is rounding
  std::optional<double> low_since;    // the layer from which on it stays below a tenth of the first value
  Index n_points = 0;

  bool collapses() const { return floor_since || (n_points > 1 && low_since); }
  bool grows() const { return last > 1.01 * first; }
  // "94 %", of the first value.
  std::string retained() const;
  // "tokens become identical to float32 precision within 2 layers", "94 % of the residual remains after 4 layers".
  // precision: "float32 ", "float64 " or empty.
  std::string words(std::string_view precision) const;
};
Fate fate_of(const LayerCurves& of, const std::string& variant);

// The sentence under a table: "retains 94 % of its residual (0.97 to 0.91 at layer 4)".
Sentence finding(const LayerCurves& of, const std::string& variant, std::string_view precision);

// Each variant's finding.
Sentences findings(const LayerCurves& of, std::string_view precision);

// The last layer of each model, variant by variant, beside the first model's. Names that differ in a number only are
// sorted by it.
Figure model_comparison(const std::vector<const LayerCurves*>& models);

}  // namespace rankfall
