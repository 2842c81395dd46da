#pragma once

#include <map>
#include <string>
#include <vector>

#include <rankfall/result.h>

namespace rankfall {

// The names under which models are shown. A path is shown by its last folder, with as many parent folders as tell it
// from the others; presets, specifications and hub names (org/name) stay as they are. Only names that change have an
// entry.
std::map<std::string, std::string> short_model_names(const std::vector<std::string>& models);

// Renames the models of all rows. The manifest keeps the paths.
void shorten_model_names(const std::vector<Result*>& results);

}  // namespace rankfall
