#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "result/prose_format.h"
#include <rankfall/report.h>

// What the report page shows, as plain data. web/src/page.ts has the same structures: the page is the script's reading
// of this as JSON.

namespace rankfall {

using Json = nlohmann::ordered_json;

// Good, bad or neither: the page shows it by a sign and a colour.
enum class Tone { kGood, kBad, kNeutral };
Tone tone_of(Status status);

// Words with a sign, for columns of kind kVerdict.
struct Badge {
  Tone tone = Tone::kNeutral;
  std::string text;
};

// monostate: absent.
using PageCell = std::variant<std::monostate, double, std::string, Badge>;

struct PageColumn {
  enum class Kind { kText, kNumber, kLog10, kVerdict };
  std::string name;   // of the field in charts
  std::string title;  // in tables; empty: not shown there
  Kind kind = Kind::kText;
};

struct Dataset {
  std::string title;
  std::vector<PageColumn> columns;
  std::vector<std::vector<PageCell>> rows;
};

// One entry of a legend. `name` is the value of the column "series".
struct Series {
  std::string name, title, colour;
  std::vector<int> dash;  // empty: solid
  std::string shape = "circle";
};

struct Panel {
  std::string title, description;
  std::vector<std::pair<std::string, Json>> views;  // label, Vega-Lite; the first is shown
  Dataset data;
  bool wide = false;
  bool square = false;  // about as wide as high: both axes are lengths
  bool tabled = true;   // its data is also a table
};

struct Figure {
  std::string id, title, caption;
  std::vector<std::string> notes;
  bool collapsed = false;
  std::vector<Series> series;
  std::vector<Panel> panels;
  std::vector<Dataset> tables;  // beside those of the panels
};

struct Section {
  std::string id, title, intro;
  std::vector<Figure> figures;
};

struct Answer {
  std::string question, answer;
  Tone tone = Tone::kNeutral;
};

struct PageContent {
  std::string title, subtitle;
  std::vector<Answer> summary;
  std::vector<Section> sections;
  std::vector<std::pair<std::string, Manifest>> manifests;
};

// The page of these results: one section for each command, or for each part of a `reproduce`.
PageContent compose_page(const std::vector<NamedResult>& results, const PageOptions& options);

// For the script element; text that is not UTF-8 is replaced.
Json to_page_json(const PageContent& page);

// A chart with its data, as other tools read it.
Json standalone_spec(const Panel& panel, const Figure& figure);

// Unique ids of a figure's panels: fig2-1, fig2-2 ...
std::string panel_id(const Figure& figure, std::size_t panel);

}  // namespace rankfall
