#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/layer_curves.h"
#include "view/view.h"
#include <rankfall/result.h>

namespace rankfall {

// The prediction as one more source of a metric's curves, behind those they have.
void add_predicted(const Result& result, const std::string& model, std::string_view metric,
                   const std::string& measured_source, Curves& curves);

// Measured and predicted values of each layer in a table, and, in the first of a view, what theory does not carry;
// nothing if a result has no predictions.
std::optional<Figure> beside_figure(const Result& result, const std::vector<const LayerCurves*>& models,
                                    bool first = true);

}  // namespace rankfall
