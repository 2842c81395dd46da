#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "render/page/page.h"

// Nodes of a view as the page has them: charts with their data, and tables.

namespace rankfall {

// monostate: absent.
using PageCell = std::variant<std::monostate, double, std::string, Badge>;

struct PageColumn {
  enum class Kind { kText, kProse, kNumber, kLog10, kVerdict };
  std::string name;   // of the field in charts
  std::string title;  // in tables; empty: not shown there
  Kind kind = Kind::kText;
};

struct Dataset {
  std::string title;
  std::vector<PageColumn> columns;
  std::vector<std::vector<PageCell>> rows;
};

// A series with its looks. Its name is the value of the column "series".
struct DrawnSeries {
  std::string name, title, colour;
  std::vector<int> dash;  // empty: solid
  std::string shape = "circle";
  std::string mark = "line";  // how it is drawn: line, bar, ribbon, box
  double width = 1.75;        // of a line
  bool is_covered = false;    // by another curve at the same place
};
// The series that some panel of the figure draws.
std::vector<DrawnSeries> drawn_series(const Figure& figure);

struct Panel {
  std::string title, description, note;
  std::vector<std::pair<std::string, Json>> views;  // label, Vega-Lite; the first is shown
  Dataset data;
  bool wide = false;
  bool square = false;  // about as wide as high: both axes are lengths
  bool tabled = true;   // its data is also a table
};

// Logarithms below this are drawn by the logarithm of the exponent.
inline constexpr double kDeepest = -30;

// The range of values that all panels of a figure share, so that they can be compared.
struct SharedRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool positive = true;
  bool any() const { return low <= high; }
  void add(std::optional<double> value);
  void add(const Curves& curves);
};

// The colours of heat maps of one kind of value.
struct SharedColours {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool is_share = false;
  void add(const Heat& heat);
};

Panel panel_of(const Curves& curves, const std::vector<DrawnSeries>& series, const SharedRange& range);
Panel panel_of(const Curves& curves, const std::vector<DrawnSeries>& series);
Panel panel_of(const Heat& heat, const SharedColours& colours);
Panel panel_of(const Heat& heat);
Panel panel_of(const Tracks& tracks, const std::vector<DrawnSeries>& series);
std::vector<Panel> panels_of(const Figure& figure);

Dataset dataset_of(const Table& table);

PageCell page_cell(std::optional<double> value);
PageCell page_cell(std::optional<Index> value);
PageCell page_cell(const std::string& text);

// A chart with its data, as other tools read it.
Json standalone_spec(const Panel& panel, const Figure& figure);

// Unique ids of a figure's panels: fig2-1, fig2-2 ...
std::string panel_id(const Figure& figure, std::size_t panel, std::size_t n_panels);

}  // namespace rankfall
