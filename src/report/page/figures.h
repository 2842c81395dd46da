#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/page/page.h"

// The figures of results, by the command that made them.

namespace rankfall {

struct FigureContext {
  std::string id;         // what ids of figures begin with
  bool compares = false;  // the rows are of several files: models side by side come first
};

using Figures = std::vector<Figure>;

Figures measure_figures(const Result& result, const FigureContext& context);
Figures collapse_figures(const Result& result, const FigureContext& context);
Figures path_figures(const Result& result, const FigureContext& context);
Figures count_figures(const Result& result, const FigureContext& context);
Figures bound_figures(const Result& result, const FigureContext& context);
Figures audit_figures(const Result& result, const FigureContext& context);
Figures agreement_figures(const Result& result, const FigureContext& context);
Figures effectiveness_figures(const Result& result, const FigureContext& context);
Figures circle_figures(const Result& result, const FigureContext& context);
Figures training_figures(const Result& result, const FigureContext& context);
Figures lowrank_figures(const Result& result, const FigureContext& context);
Figures cost_figures(const Result& result, const FigureContext& context);
// For everything else: curves where there are layers, and all rows as a table.
Figures plain_figures(const Result& result, const FigureContext& context);

// A heat map of rows by two of their indices.
struct HeatPanel {
  std::string title;        // of the panel
  std::string x, y, value;  // titles of the table's columns
  std::string value_title;  // of the legend
  std::optional<Index> Row::*x_of, Row::*y_of;
};
Panel heat_panel(const std::vector<const Row*>& rows, const HeatPanel& map);

// By block and head.
Panel head_panel(const std::vector<const Row*>& rows, const std::string& metric);

// One of these for each metric that has heads.
Figures head_maps(const std::vector<const Row*>& rows, const FigureContext& context);

// The rows as a table of those columns that have values.
Dataset rows_table(const std::vector<const Row*>& rows, const std::string& title);

// A number that models differ in, as in checkpoint-100 and checkpoint-2000; nothing if they differ in more.
std::vector<double> numbers_of(const std::vector<std::string>& models);

}  // namespace rankfall
