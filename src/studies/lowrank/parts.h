#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/rows.h"
#include "view/view.h"

// What the figures of low-rank attention have in common.

namespace rankfall {

inline constexpr std::size_t kMostKinds = 24;  // beside each other; a file may have any number

// What a panel or a table shows, and of whom.
std::string titled(const RowGroup& group, std::string_view what);

// Exponents of n with their errors and what is found, a line for each row.
Table exponent_table(const Rows& rows, std::string title, std::string kind_title,
                     std::string (*kind_words)(const std::string& kind));

// How far other kinds of attention lead away from a model's own states.
Figure kinds_figure(const Result& result);

// Johnson-Lindenstrauss: what a projection needs, how often it fails, and in short.
std::vector<Figure> sketch_figures(const std::vector<RowGroup>& groups);
std::vector<Answer> sketch_answers(const std::vector<RowGroup>& groups);

}  // namespace rankfall
