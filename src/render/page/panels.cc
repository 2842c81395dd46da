#include "render/page/panels.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace rankfall {
namespace {

using ColumnKind = PageColumn::Kind;

ColumnKind kind_of(TableColumn::Kind kind) {
  switch (kind) {
    case TableColumn::Kind::kNumber:
    case TableColumn::Kind::kCount:
    case TableColumn::Kind::kShare:
      return ColumnKind::kNumber;
    case TableColumn::Kind::kLog10:
      return ColumnKind::kLog10;
    case TableColumn::Kind::kProse:
      return ColumnKind::kProse;
    default:
      return ColumnKind::kText;
  }
}

// Curves that have one axis in common.
std::string axis_key(const Curves& curves) {
  const bool parts_of_one = curves.stacked && curves.share;
  return fmt::format("{}\n{}\n{}", parts_of_one ? "" : curves.y, static_cast<int>(curves.scale), curves.stacked);
}

std::string colour_key(const Heat& heat) { return heat.share ? "" : heat.value; }

// Stacked bars without their totals, which are not drawn.
Curves without_totals(Curves curves, const std::vector<DrawnSeries>& series) {
  if (!curves.stacked) return curves;
  std::erase_if(curves.points, [&](const Point& point) {
    return std::ranges::find(series, point.series, &DrawnSeries::name) == series.end();
  });
  return curves;
}

}  // namespace

std::vector<Panel> panels_of(const Figure& figure) {
  const std::vector<DrawnSeries> series = drawn_series(figure);
  std::map<std::string, SharedRange> ranges;
  std::map<std::string, std::optional<std::pair<double, double>>> domains;
  std::map<std::string, bool> deep;
  std::map<std::string, SharedColours> colours;  // of all shares, and of each other kind of value
  for (const Node& node : figure.nodes) {
    if (const auto* curves = std::get_if<Curves>(&node)) {
      ranges[axis_key(*curves)].add(without_totals(*curves, series));
      auto& domain = domains[axis_key(*curves)];
      if (curves->domain && !domain) domain = curves->domain;
      if (curves->domain) {
        domain->first = std::min(domain->first, curves->domain->first);
        domain->second = std::max(domain->second, curves->domain->second);
      }
      deep[axis_key(*curves)] = deep[axis_key(*curves)] || curves->deep;
    }
    if (const auto* heat = std::get_if<Heat>(&node)) {
      SharedColours& shared = colours[colour_key(*heat)];
      shared.is_share = heat->share;
      shared.add(*heat);
    }
  }
  std::vector<Panel> panels;
  for (const Node& node : figure.nodes) {
    if (const auto* curves = std::get_if<Curves>(&node)) {
      Curves shared = *curves;
      const std::string key = axis_key(shared);
      const SharedRange& range = ranges.at(key);
      shared.domain = domains.at(key);
      // A domain that one panel asked for must not cut off another's points.
      if (shared.domain && range.any() &&
          (range.low < shared.domain->first - 1e-9 || range.high > shared.domain->second + 1e-9)) {
        shared.domain->first = std::min(shared.domain->first, range.low);
        shared.domain->second = std::max(shared.domain->second, range.high);
      }
      shared.deep = deep.at(key);
      panels.push_back(panel_of(shared, series, range));
    }
    if (const auto* heat = std::get_if<Heat>(&node)) panels.push_back(panel_of(*heat, colours.at(colour_key(*heat))));
    if (const auto* tracks = std::get_if<Tracks>(&node)) panels.push_back(panel_of(*tracks, series));
  }
  return panels;
}

// A number with more to it becomes several columns: the page sorts and saves these.
Dataset dataset_of(const Table& table) {
  Dataset data;
  data.title = table.title;
  data.rows.resize(table.rows.size());
  const auto add = [&](std::size_t c, const std::string& suffix, ColumnKind kind, auto cell_of) {
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
    add(c, "", badges ? ColumnKind::kVerdict : kind_of(table.columns[c].kind), [](const Cell& cell) -> PageCell {
      if (const auto* number = std::get_if<Number>(&cell)) return page_cell(number->value);
      if (const auto* text = std::get_if<std::string>(&cell)) return page_cell(*text);
      if (const auto* badge = std::get_if<Badge>(&cell)) return *badge;
      return {};
    });
    const auto part = [&](std::optional<double> Number::*field, const char* name) {
      if (!numbers(c, [&](const Number& number) { return (number.*field).has_value(); })) return;
      add(c, name, ColumnKind::kNumber, [&](const Cell& cell) {
        const auto* number = std::get_if<Number>(&cell);
        return number ? page_cell(number->*field) : PageCell();
      });
    };
    part(&Number::error, "±");
    part(&Number::low, "from");
    part(&Number::high, "to");
    if (numbers(c, [](const Number& number) { return !number.note.empty() || number.at_least; })) {
      add(c, "note", ColumnKind::kText, [](const Cell& cell) {
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
