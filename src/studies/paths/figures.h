#pragma once

#include <optional>

#include "view/rows.h"
#include "view/view.h"

// What there is to show of the paths through one model and variant; nothing where the rows do not say it. `number`
// makes the figures' ids different.

namespace rankfall {

// Sums over all paths of each length, by origin.
std::optional<Figure> paths_by_length(const RowGroup& group, std::size_t number);

// The share of paths of length 0 and 1 in the output's residual.
std::optional<Answer> paths_answer(const RowGroup& group);
std::optional<Answer> heaviest_answer(const RowGroup& group);
std::optional<Answer> random_answer(const RowGroup& group);

// Random paths of each length: median and quartiles.
std::optional<Figure> random_paths(const RowGroup& group, std::size_t number);

// Single paths with the largest norms, as a table and as lines through blocks and heads.
std::optional<Figure> heaviest_paths(const RowGroup& group, std::size_t number);

}  // namespace rankfall
