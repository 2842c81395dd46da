#pragma once

#include <string>
#include <vector>

#include "studies/layer_curves.h"
#include "view/view.h"

// The sentences at the head of `measure`, and the table of what each part of a network does.

namespace rankfall {

// "without skip connections and MLPs (san)", "in the full model".
std::string variant_phrase(const std::string& variant);

// What collapses and what prevents it, from curves of the relative residual; one entry per model.
std::vector<Answer> collapse_answers(const std::vector<const LayerCurves*>& models, const std::string& precision,
                                     bool as_published);

// True if there is the full network and at least one with a single part removed.
bool has_ablation(const LayerCurves& of);

// The effect of each part: relative residual of the last layer without it, beside that of the full network.
Figure ablation_figure(const std::vector<const LayerCurves*>& models, const std::string& precision);

// Which part prevents collapse, in a sentence per model.
std::vector<Answer> ablation_answers(const std::vector<const LayerCurves*>& models, const std::string& precision);

}  // namespace rankfall
