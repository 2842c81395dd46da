#include "render/page/panels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "render/page/chart.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;

// Okabe and Ito's colours, darkened where they are too light for lines on white.
constexpr std::array<std::string_view, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#E69F00",
                                                      "#AA4499", "#56B4E9", "#8C6D1F", "#6B6B6B"};
constexpr std::array<std::string_view, 8> kShapes = {"circle",        "square", "triangle-up",   "diamond",
                                                     "triangle-down", "cross",  "triangle-left", "triangle-right"};
const std::array<std::vector<int>, 4> kDashes = {std::vector<int>{}, {6, 3}, {2, 2}, {8, 3, 2, 3}};
const std::array<std::vector<int>, 4> kReferenceDashes = {std::vector<int>{6, 4}, {2, 3}, {10, 4}, {10, 3, 2, 3}};

// A colour from blue to orange, none of them too light or too dark for either background.
std::string ordered_colour(std::size_t i, std::size_t n) {
  constexpr std::array<std::array<double, 3>, 4> kAnchors = {
      {{0x2F, 0x6F, 0xC4}, {0x8E, 0x4F, 0xB8}, {0xCC, 0x47, 0x78}, {0xE0, 0x7B, 0x2E}}};
  const double place = n < 2 ? 0 : 3.0 * static_cast<double>(i) / static_cast<double>(n - 1);
  const auto before = static_cast<std::size_t>(std::min(2.0, std::floor(place)));
  const double share = place - static_cast<double>(before);
  std::array<int, 3> rgb{};
  for (std::size_t c = 0; c < 3; ++c) {
    rgb.at(c) =
        static_cast<int>(std::lround((1 - share) * kAnchors.at(before).at(c) + share * kAnchors.at(before + 1).at(c)));
  }
  return fmt::format("#{:02X}{:02X}{:02X}", rgb[0], rgb[1], rgb[2]);
}

DrawnSeries looks_of(const Series& series, std::size_t n_ordered) {
  const std::size_t number = series.number;
  DrawnSeries out{series.name, series.title, "", {}, ""};
  switch (series.look) {
    case Series::Look::kNumbered:
      out.colour = kColours.at(number % kColours.size());
      out.dash = kDashes.at(number / kColours.size() % kDashes.size());
      out.shape = kShapes.at((number + number / kColours.size()) % kShapes.size());
      break;
    case Series::Look::kOrdered:
      out.colour = ordered_colour(number, n_ordered);
      out.shape = kShapes.at(number % kShapes.size());
      break;
    case Series::Look::kTotal:  // not drawn
    case Series::Look::kReference:
      out.colour = kColours.back();
      out.dash = kReferenceDashes.at(number % kReferenceDashes.size());
      out.shape = "stroke";
      break;
  }
  return out;
}

Kind kind_of(TableColumn::Kind kind) {
  switch (kind) {
    case TableColumn::Kind::kNumber:
    case TableColumn::Kind::kCount:
    case TableColumn::Kind::kShare:
      return Kind::kNumber;
    case TableColumn::Kind::kLog10:
      return Kind::kLog10;
    default:
      return Kind::kText;
  }
}

}  // namespace

std::vector<DrawnSeries> drawn_series(const Figure& figure) {
  std::set<std::string_view> drawn;
  bool by_source = false;
  for (const Node& node : figure.nodes) {
    if (const auto* curves = std::get_if<Curves>(&node)) {
      by_source = by_source || curves->sources.size() > 1;
      for (const Point& point : curves->points) {
        if (point.value) drawn.insert(point.series);
      }
    }
    if (const auto* tracks = std::get_if<Tracks>(&node)) {
      for (const Tracks::Track& track : tracks->tracks) drawn.insert(track.series);
    }
  }
  const auto n_ordered =
      static_cast<std::size_t>(std::ranges::count(figure.series, Series::Look::kOrdered, &Series::look));
  std::vector<DrawnSeries> out;
  for (const Series& series : figure.series) {
    if (!drawn.contains(series.name) || series.look == Series::Look::kTotal) continue;
    out.push_back(looks_of(series, n_ordered));
    if (by_source) out.back().dash.clear();  // dashes say the source
  }
  return out;
}

std::vector<Panel> panels_of(const Figure& figure) {
  const std::vector<DrawnSeries> series = drawn_series(figure);
  std::vector<Panel> panels;
  for (const Node& node : figure.nodes) {
    if (const auto* curves = std::get_if<Curves>(&node)) panels.push_back(panel_of(*curves, series));
    if (const auto* heat = std::get_if<Heat>(&node)) panels.push_back(panel_of(*heat));
    if (const auto* tracks = std::get_if<Tracks>(&node)) panels.push_back(panel_of(*tracks, series));
  }
  return panels;
}

Panel panel_of(const Heat& heat) {
  Panel panel;
  panel.title = heat.title;
  panel.description = fmt::format("Heat map of {} by {} and {}; the table has the values.", heat.value, heat.x, heat.y);
  panel.data.title = heat.title.empty() ? heat.value : heat.title;
  panel.data.columns = {
      {heat.x, heat.x, Kind::kNumber}, {heat.y, heat.y, Kind::kNumber}, {"value", heat.value, Kind::kNumber}};
  HeatChart chart;
  double largest = 0;
  for (const Heat::Value& one : heat.values) {
    panel.data.rows.push_back({static_cast<double>(one.x), static_cast<double>(one.y), page_cell(one.value)});
    chart.diverging = chart.diverging || one.value.value_or(0) < 0;
    largest = std::max(largest, std::abs(one.value.value_or(0)));
  }
  if (largest > 0) chart.largest = largest;
  chart.x = axis_of(heat.x, heat.x);
  chart.y = axis_of(heat.y, heat.y);
  chart.value = "value";
  chart.value_title = heat.value;
  chart.tooltip = {{heat.x, true}, {heat.y, true}, {"value", true}};
  panel.views.emplace_back("map", heat_spec(chart));
  return panel;
}

namespace {

// Every index below n, or every second, third ... so that there are not many.
std::vector<double> index_ticks(Index n, Index most) {
  std::vector<double> ticks;
  for (Index i = 0; i < n; i += std::max<Index>(1, (n + most - 1) / most)) ticks.push_back(static_cast<double>(i));
  return ticks;
}

}  // namespace

Panel panel_of(const Tracks& tracks, const std::vector<DrawnSeries>& series) {
  Panel panel;
  panel.title = tracks.title;
  panel.wide = tracks.lanes;
  panel.square = !tracks.lanes;
  panel.tabled = !tracks.lanes;
  panel.data.title = tracks.title;
  panel.description = fmt::format("Lines in the plane of {} and {}: {}.", tracks.x, tracks.y, tracks.title);
  panel.data.columns = {{"series", "line", Kind::kText}, {"name", tracks.lanes ? "path" : "", Kind::kText},
                        {"step", "step", Kind::kNumber}, {"x", tracks.x, Kind::kNumber},
                        {"y", tracks.y, Kind::kNumber},  {"share", tracks.lanes ? "share" : "", Kind::kNumber},
                        {"size", "", Kind::kNumber},     {"rank", tracks.lanes ? "rank" : "", Kind::kNumber}};
  double reach = 0;
  for (const Tracks::Track& track : tracks.tracks) {
    const std::string name = track.origin.empty() ? track.name : fmt::format("{} from {}", track.name, track.origin);
    for (std::size_t i = 0; i < track.points.size(); ++i) {
      const auto& [x, y] = track.points[i];
      reach = std::max({reach, std::abs(x), std::abs(y)});
      panel.data.rows.push_back({track.series, name, static_cast<double>(i), x, y, track.weight, std::abs(track.weight),
                                 page_cell(track.rank)});
    }
  }
  LineChart chart;
  chart.series = series;
  chart.x = axis_of("x", tracks.x);
  chart.y = axis_of("y", tracks.y);
  if (tracks.lanes) {
    chart.x.format = "d";
    chart.x.domain = {{-0.8, static_cast<double>(tracks.n_blocks)}};
    chart.x.ticks = index_ticks(tracks.n_blocks, 24);
    chart.y.label = "datum.value < 0 ? 'skip' : format(datum.value, 'd')";
    chart.y.domain = {{-2.2, static_cast<double>(tracks.n_heads) - 0.3}};
    chart.y.ticks = index_ticks(tracks.n_heads, 16);
    chart.y.ticks.insert(chart.y.ticks.begin(), -1.5);
    chart.series_title = "heads on the path";
    chart.points = false;
    chart.detail = "name";
    chart.order = "x";
    chart.width_field = "size";
    chart.tooltip = {{"name", false}, {"share", true}, {"rank", true}};
    chart.height = 340;
  } else {
    chart.x.format = chart.y.format = ".2~f";
    chart.x.domain = chart.y.domain = {{-1.1 * reach, 1.1 * reach}};
    chart.point_size = 9;
    chart.series_title = "track";
    chart.order = "step";
    chart.tooltip = {{"series", false}, {"step", true}, {"x", true}, {"y", true}};
    chart.height = 320;
  }
  panel.views.emplace_back(tracks.lanes ? "paths" : "plane", line_spec(chart));
  return panel;
}

// A number with more to it becomes several columns: the page sorts and saves these.
Dataset dataset_of(const Table& table) {
  Dataset data;
  data.title = table.title;
  data.rows.resize(table.rows.size());
  const auto add = [&](std::size_t c, const std::string& suffix, Kind kind, auto cell_of) {
    const TableColumn& column = table.columns[c];
    std::string title = column.title;
    if (!column.group.empty() && column.group != column.title) {
      const std::string_view between = column.title.empty() ? "" : column.group.ends_with('=') ? " " : ", ";
      title = fmt::format("{}{}{}", column.group, between, column.title);
    }
    if (!suffix.empty()) title = title.empty() ? suffix : fmt::format("{}: {}", title, suffix);
    data.columns.push_back({fmt::format("c{}{}", c, suffix), std::move(title), kind});
    for (std::size_t r = 0; r < table.rows.size(); ++r) data.rows[r].push_back(cell_of(table.rows[r][c]));
  };
  const auto numbers = [&](std::size_t c, auto has) {
    return std::ranges::any_of(table.rows, [&](const std::vector<Cell>& row) {
      const auto* number = std::get_if<Number>(&row[c]);
      return number && has(*number);
    });
  };
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool badges = std::ranges::any_of(
        table.rows, [&](const std::vector<Cell>& row) { return std::holds_alternative<Badge>(row[c]); });
    add(c, "", badges ? Kind::kVerdict : kind_of(table.columns[c].kind), [](const Cell& cell) -> PageCell {
      if (const auto* number = std::get_if<Number>(&cell)) return page_cell(number->value);
      if (const auto* text = std::get_if<std::string>(&cell)) return page_cell(*text);
      if (const auto* badge = std::get_if<Badge>(&cell)) return *badge;
      return {};
    });
    const auto part = [&](std::optional<double> Number::*field, const char* name) {
      if (!numbers(c, [&](const Number& number) { return (number.*field).has_value(); })) return;
      add(c, name, Kind::kNumber, [&](const Cell& cell) {
        const auto* number = std::get_if<Number>(&cell);
        return number ? page_cell(number->*field) : PageCell();
      });
    };
    part(&Number::error, "±");
    part(&Number::low, "from");
    part(&Number::high, "to");
    if (numbers(c, [](const Number& number) { return !number.note.empty() || number.at_least; })) {
      add(c, "note", Kind::kText, [](const Cell& cell) {
        const auto* number = std::get_if<Number>(&cell);
        if (!number) return PageCell();
        return page_cell(number->at_least ? "at least" + (number->note.empty() ? "" : "; " + number->note)
                                          : number->note);
      });
    }
  }
  return data;
}

PageCell page_cell(std::optional<double> value) {
  return value && std::isfinite(*value) ? PageCell(*value) : PageCell();
}

PageCell page_cell(std::optional<Index> value) { return value ? PageCell(static_cast<double>(*value)) : PageCell(); }

PageCell page_cell(const std::string& text) { return text.empty() ? PageCell() : PageCell(text); }

}  // namespace rankfall
