#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/page/chart.h"
#include "report/page/figures.h"
#include "report/table_text.h"

// What the figures of low-rank attention have in common.

namespace rankfall {

// Johnson-Lindenstrauss: how often it fails, and what it needs.
Figures sketch_figures(const std::vector<RowGroup>& groups, const FigureContext& context);

// Curves that have an order: colours from blue to orange.
std::vector<Series> ordered_series(const std::vector<std::string>& names);

// A grey dashed line to compare with.
Series reference_series(std::string name, std::string title);

std::string name_of(const RowGroup& group);

// What a panel shows, and of whom where there are several.
std::string panel_title(const RowGroup& group, const std::vector<RowGroup>& groups, const std::string& what);

// "-0.41 ± 0.02" of a row that has a mean.
std::string exponent_text(const Row& row);

// Every row of a metric that is an exponent of n, with what it says in words.
Dataset exponents_table(const std::vector<RowGroup>& groups, std::string_view metric, std::string title);

}  // namespace rankfall
