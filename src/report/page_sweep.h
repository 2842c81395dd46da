#pragma once

#include <optional>
#include <string>
#include <vector>

#include "view/view.h"
#include <rankfall/result.h>

// Results of many models that differ in numbers of their names only: san:layers=2,heads=4, checkpoint-400.

namespace rankfall {

struct Sweep {
  std::vector<std::string> keys;            // what differs: "layers"
  std::vector<std::string> models;          // in the order of their numbers
  std::vector<std::vector<double>> values;  // of each model, one for each key
};

// Three models or more whose names are the same but for numbers; absent otherwise.
std::optional<Sweep> sweep_of(const std::vector<std::string>& models);

// The result with the models of a sweep in the order of their numbers: 2, 4, 16 and not 16, 2, 4.
Result in_sweep_order(Result result);

// Puts the last layer over the swept number first, or a map where two were swept, and closes the figures that have a
// panel for each of many models.
void show_sweep(const Result& result, View& view);

}  // namespace rankfall
