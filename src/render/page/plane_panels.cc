#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "render/page/chart.h"
#include "render/page/panels.h"
#include "view/number_text.h"
#include "view/rows.h"

// Heat maps and tracks: charts whose two axes are both places.

namespace rankfall {
namespace {

using ColumnKind = PageColumn::Kind;

}  // namespace

void SharedColours::add(const Heat& heat) {
  for (const Heat::Value& one : heat.values) {
    if (!one.value || !std::isfinite(*one.value)) continue;
    low = std::min(low, *one.value);
    high = std::max(high, *one.value);
  }
}

Panel panel_of(const Heat& heat) {
  SharedColours colours;
  colours.is_share = heat.share;
  colours.add(heat);
  return panel_of(heat, colours);
}

namespace {

std::string power_text(double value) {
  return std::abs(value) >= 1e-3 || value == 0 ? significant(value, 2)
                                               : fmt::format("10^{:.0f}", std::ceil(std::log10(std::abs(value))));
}

}  // namespace

Panel panel_of(const Heat& heat, const SharedColours& colours) {
  Panel panel;
  panel.title = heat.title;
  const std::string& words = heat.value;
  panel.description = fmt::format("A map of {} by {} and {}; the table has the values.", words, heat.x, heat.y);
  panel.data.title = heat.title.empty() ? words : panel.title;
  panel.data.columns = {{heat.x, heat.x, ColumnKind::kNumber},
                        {heat.y, heat.y, ColumnKind::kNumber},
                        {"value", words, ColumnKind::kNumber}};
  HeatChart chart;
  for (const Heat::Value& one : heat.values) {
    panel.data.rows.push_back({one.x, one.y, page_cell(one.value)});
  }
  const bool any = colours.low <= colours.high;
  const double largest = any ? std::max(std::abs(colours.low), std::abs(colours.high)) : 0;
  // The full range of colours over differences that do not matter would make noise look like structure.
  constexpr double kLeastShare = 1e-3;
  const bool tiny = colours.is_share && any && largest < kLeastShare;
  const double reach = tiny ? kLeastShare : largest > 0 ? largest : 1;
  chart.diverging = any && colours.low < 0 && !heat.logarithms;
  chart.low = chart.diverging ? -reach : colours.is_share || !any ? 0 : colours.low;  // equal colours, equal sizes
  chart.high = chart.diverging || tiny || !any ? reach : colours.high;
  if (heat.logarithms && any) {  // at least a power of ten, for the same reason
    const double missing = std::max(0.0, 1 - (chart.high - chart.low));
    chart.low -= missing;
  }
  if (!(chart.high > chart.low)) chart.high = chart.low + std::max(1e-12, std::abs(chart.low));
  double own = 0;
  for (const Heat::Value& one : heat.values) own = std::max(own, std::abs(one.value.value_or(0)));
  if (colours.is_share && any && own < kLeastShare) {
    panel.note = fmt::format("{}: no value is larger than {}, too little to be seen on this scale.",
                             heat.title.empty() ? title_case(words) : panel.title, power_text(own));
  } else if (any && largest < kLeastShare) {
    panel.note = fmt::format("{}: mind the scale, all values lie between {} and {}.", title_case(words),
                             significant(colours.low, 2), significant(colours.high, 2));
  }
  chart.x = axis_of(heat.x, heat.x);
  chart.y = axis_of(heat.y, heat.y);
  chart.value = "value";
  chart.value_title = words;
  chart.tooltip = {{heat.x, true}, {heat.y, true}, {"value", true}};
  // Places without a value stay, blank: a map keeps its shape.
  std::set<double> columns, lines;
  for (const Heat::Value& one : heat.values) {
    columns.insert(one.x);
    lines.insert(one.y);
  }
  chart.columns.assign(columns.begin(), columns.end());
  chart.lines.assign(lines.begin(), lines.end());
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
  panel.data.columns = {
      {"series", "line", ColumnKind::kText}, {"name", tracks.lanes ? "path" : "", ColumnKind::kText},
      {"step", "step", ColumnKind::kNumber}, {"x", tracks.x, ColumnKind::kNumber},
      {"y", tracks.y, ColumnKind::kNumber},  {"share", tracks.lanes ? "share" : "", ColumnKind::kNumber},
      {"size", "", ColumnKind::kNumber},     {"rank", tracks.lanes ? "rank" : "", ColumnKind::kNumber}};
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

}  // namespace rankfall
