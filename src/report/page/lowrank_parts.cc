#include "report/page/lowrank_parts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/page/curves.h"

namespace rankfall {

std::vector<Series> ordered_series(const std::vector<std::string>& names) {
  // None of them too light or too dark for either background.
  constexpr std::array<std::array<double, 3>, 4> kAnchors = {
      {{0x2F, 0x6F, 0xC4}, {0x8E, 0x4F, 0xB8}, {0xCC, 0x47, 0x78}, {0xE0, 0x7B, 0x2E}}};
  std::vector<Series> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Series series = numbered_series(names[i], names[i], i);
    const double place = names.size() < 2 ? 0 : 3.0 * static_cast<double>(i) / static_cast<double>(names.size() - 1);
    const auto before = static_cast<std::size_t>(std::min(2.0, std::floor(place)));
    std::array<int, 3> rgb{};
    for (std::size_t c = 0; c < 3; ++c) {
      const double share = place - static_cast<double>(before);
      rgb.at(c) = static_cast<int>(
          std::lround((1 - share) * kAnchors.at(before).at(c) + share * kAnchors.at(before + 1).at(c)));
    }
    series.colour = fmt::format("#{:02X}{:02X}{:02X}", rgb[0], rgb[1], rgb[2]);
    series.dash.clear();
    out.push_back(std::move(series));
  }
  return out;
}

Series reference_series(std::string name, std::string title) {
  Series series = numbered_series(std::move(name), std::move(title), 7);
  series.dash = {6, 4};
  series.shape = "stroke";
  return series;
}

std::string name_of(const RowGroup& group) {
  return group.variant.empty() ? group.model : fmt::format("{} {}", group.model, group.variant);
}

std::string panel_title(const RowGroup& group, const std::vector<RowGroup>& groups, const std::string& what) {
  return groups.size() > 1 ? fmt::format("{}: {}", name_of(group), what) : what;
}

std::string exponent_text(const Row& row) {
  std::string text = significant(*row.mean, 2);
  if (row.std && std::isfinite(*row.std)) text += fmt::format(" ± {}", significant(*row.std, 1));
  return text;
}

Dataset exponents_table(const std::vector<RowGroup>& groups, std::string_view metric, std::string title) {
  Dataset table;
  table.title = std::move(title);
  table.columns = {
      {"model", "model", PageColumn::Kind::kText},          {"variant", "variant", PageColumn::Kind::kText},
      {"claim", "claim", PageColumn::Kind::kText},          {"kind", "kind", PageColumn::Kind::kText},
      {"exponent", "exponent", PageColumn::Kind::kNumber},  {"error", "standard error", PageColumn::Kind::kNumber},
      {"verdict", "what is found", PageColumn::Kind::kText}};
  bool claims = false;
  for (const RowGroup& group : groups) {
    for (const Row* row : with_metric(group.rows, metric)) {
      claims = claims || !row->claim.empty();
      table.rows.push_back({row->model, row->variant, cell(row->claim), cell(row->kind), cell(row->mean),
                            cell(row->std), cell(fmt::to_string(row->verdict))});
    }
  }
  if (!claims) table.columns[2].title.clear();
  return table;
}

}  // namespace rankfall
