#include "render/page/panels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "render/page/chart.h"
#include "view/number_text.h"
#include "view/rows.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;

// Okabe and Ito's colours, darkened where they are too light for lines on white.
constexpr std::array<std::string_view, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#E69F00",
                                                      "#AA4499", "#56B4E9", "#8C6D1F", "#6B6B6B"};
// Further ones, for figures with many curves; of a lightness that is seen on white and on black.
constexpr std::array<std::string_view, 8> kMoreColours = {"#7B5FD9", "#C2314F", "#5E8F1E", "#2B8F9E",
                                                          "#C46BE0", "#B05A3C", "#4F6E8F", "#E0559A"};
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

// No two of a figure have the same colour: behind those chosen by hand, hues a golden angle apart.
std::string numbered_colour(std::size_t number) {
  if (number < kColours.size()) return std::string(kColours.at(number));
  number -= kColours.size();
  if (number < kMoreColours.size()) return std::string(kMoreColours.at(number));
  number -= kMoreColours.size();
  const double turn = 0.1 + 0.381966 * static_cast<double>(number), hue = 6 * (turn - std::floor(turn));
  const double light = number % 2 == 0 ? 0.46 : 0.58, chroma = 0.55 * (1 - std::abs(2 * light - 1));
  const auto channel = [&](double from) {
    const double place = std::fmod(from + hue, 6);
    const double share = std::clamp(std::min(place, 4 - place), 0.0, 1.0);
    return static_cast<int>(std::lround(255 * (light + chroma * (share - 0.5))));
  };
  return fmt::format("#{:02X}{:02X}{:02X}", channel(5), channel(3), channel(1));
}

DrawnSeries looks_of(const Series& series, std::size_t n_ordered) {
  const std::size_t number = series.number;
  DrawnSeries out;
  out.name = series.name;
  out.title = in_words(series.title);
  switch (series.look) {
    case Series::Look::kNumbered:
      out.colour = numbered_colour(number);
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
    case TableColumn::Kind::kProse:
      return Kind::kProse;
    default:
      return Kind::kText;
  }
}

// How a node draws its series.
std::string mark_of(const Node& node) {
  if (const auto* curves = std::get_if<Curves>(&node)) {
    if (curves->stacked) return "bar";
    return curves->band == Band::kQuartiles && curves->error_bars && curves->sources.size() < 2 ? "box" : "line";
  }
  const auto* tracks = std::get_if<Tracks>(&node);
  return tracks && tracks->lanes ? "ribbon" : "line";
}

// The curve of a series by x, of the first source.
std::map<double, double> curve_of(const Curves& curves, const std::string& series) {
  std::map<double, double> out;
  for (const Point& point : curves.points) {
    const bool first_source = curves.sources.empty() || point.source == curves.sources.front();
    if (point.series == series && point.value && std::isfinite(*point.value) && first_source) {
      out[point.x] = *point.value;
    }
  }
  return out;
}

constexpr double kLineWidth = 0.008;  // of the height of a chart

// Whether two curves lie on each other: everywhere closer than a line is wide.
bool coincide(const std::map<double, double>& a, const std::map<double, double>& b, double height) {
  if (a.size() < 3 || a.size() != b.size()) return false;
  return std::ranges::equal(a, b, [&](const auto& p, const auto& q) {
    return p.first == q.first && std::abs(p.second - q.second) <= kLineWidth * height;
  });
}

// Pairs of series of a node that coincide, by their places in `names`: each with the first one that it coincides with.
std::vector<std::pair<std::size_t, std::size_t>> coinciding(const Curves& curves,
                                                            const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 40;  // beyond that nobody can tell curves apart anyway
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const bool boxes = curves.band == Band::kQuartiles && curves.error_bars;
  if (curves.stacked || boxes || curves.points.size() > 20'000 || names.size() > kMost) return pairs;
  SharedRange range;
  range.add(curves);
  if (!range.any()) return pairs;
  // As the chart that is shown first places them.
  const bool deep = curves.scale == Scale::kLog10 && (curves.deep || range.low < kDeepest);
  const auto place = [&](double value) { return deep ? std::copysign(std::log1p(std::abs(value)), value) : value; };
  const double height =
      curves.domain ? curves.domain->second - curves.domain->first : place(range.high) - place(range.low);
  std::vector<std::map<double, double>> all;
  for (const std::string& name : names) {
    all.push_back(curve_of(curves, name));
    for (auto& [x, value] : all.back()) value = place(value);
  }
  for (std::size_t b = 1; b < names.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (!coincide(all[a], all[b], height)) continue;
      pairs.emplace_back(a, b);
      break;
    }
  }
  return pairs;
}

std::vector<std::string> names_of(const Figure& figure) {
  std::vector<std::string> names;
  for (const Series& series : figure.series) {
    if (series.look == Series::Look::kNumbered) names.push_back(series.name);
  }
  return names;
}

// Curves that have one axis in common.
std::string axis_key(const Curves& curves) {
  const bool parts_of_one = curves.stacked && curves.share;
  return fmt::format("{}\n{}\n{}", parts_of_one ? "" : curves.y, static_cast<int>(curves.scale), curves.stacked);
}

}  // namespace

std::string in_words(const std::string& title) {
  if (const auto known = find_metric(title)) return known->words;
  const auto colon = title.rfind(": ");
  if (colon == std::string::npos) return title;
  const auto known = find_metric(title.substr(colon + 2));
  return known ? title.substr(0, colon + 2) + known->words : title;
}

std::vector<DrawnSeries> drawn_series(const Figure& figure) {
  std::map<std::string_view, std::string> drawn;  // how
  bool by_source = false;
  for (const Node& node : figure.nodes) {
    if (const auto* curves = std::get_if<Curves>(&node)) {
      by_source = by_source || curves->sources.size() > 1;
      for (const Point& point : curves->points) {
        if (point.value) drawn.try_emplace(point.series, mark_of(node));
      }
    }
    if (const auto* tracks = std::get_if<Tracks>(&node)) {
      for (const Tracks::Track& track : tracks->tracks) drawn.try_emplace(track.series, mark_of(node));
    }
  }
  std::set<std::string> covered;
  const std::vector<std::string> names = names_of(figure);
  for (const Node& node : figure.nodes) {
    const auto* curves = std::get_if<Curves>(&node);
    if (!curves) continue;
    for (const auto& pair : coinciding(*curves, names)) {
      // What comes first in the data is drawn first.
      const auto first = std::ranges::find_if(curves->points, [&](const Point& p) {
        return p.series == names[pair.first] || p.series == names[pair.second];
      });
      covered.insert(first->series);
    }
  }
  const auto n_ordered =
      static_cast<std::size_t>(std::ranges::count(figure.series, Series::Look::kOrdered, &Series::look));
  std::vector<DrawnSeries> out;
  for (const Series& series : figure.series) {
    const auto found = drawn.find(series.name);
    if (found == drawn.end() || series.look == Series::Look::kTotal) continue;
    out.push_back(looks_of(series, n_ordered));
    out.back().mark = found->second;
    if (by_source) out.back().dash.clear();             // dashes say the source
    if (covered.contains(series.name) && !by_source) {  // dashes cannot be seen in wide lines
      out.back().is_covered = true;
      out.back().width = 5;
    }
  }
  return out;
}

namespace {

// What a legend calls a series, without its explanation: "san" of "san: attention alone".
std::string short_title(const Figure& figure, const std::string& name) {
  const auto found = std::ranges::find(figure.series, name, &Series::name);
  const std::string title = found == figure.series.end() ? name : in_words(found->title);
  return title.substr(0, title.find(": "));
}

}  // namespace

std::vector<std::string> coincidences(const Figure& figure) {
  const std::vector<std::string> names = names_of(figure);
  std::map<std::vector<std::size_t>, std::vector<std::string>> where;  // those that coincide, and in which panels
  std::size_t n_curves = 0;
  bool logs = false, by_source = false;
  for (const Node& node : figure.nodes) {
    const auto* curves = std::get_if<Curves>(&node);
    if (!curves || curves->stacked) continue;
    ++n_curves;
    logs = logs || curves->scale == Scale::kBoth;
    by_source = by_source || curves->sources.size() > 1;
    std::map<std::size_t, std::vector<std::size_t>> clusters;  // by their first
    for (const auto& [a, b] : coinciding(*curves, names)) {
      auto& cluster = clusters[a];
      if (cluster.empty()) cluster.push_back(a);
      cluster.push_back(b);
    }
    for (const auto& [first, cluster] : clusters) where[cluster].push_back(curves->title);
  }
  std::vector<std::string> out;
  for (const auto& [cluster, titles] : where) {
    std::vector<std::string> words;
    for (const std::size_t place : cluster) words.push_back(short_title(figure, names[place]));
    out.push_back(fmt::format("The curves of {} coincide{}{}{}.", joined(words), logs ? " on the linear scale" : "",
                              titles.size() == n_curves ? "" : fmt::format(" in {}", joined(titles)),
                              by_source ? "" : "; those below are drawn wider"));
  }
  return out;
}

namespace {

std::string colour_key(const Heat& heat) { return metric_info(heat.value).is_share() ? "" : heat.value; }

// Of stacked bars the parts: their total is not drawn.
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
      shared.is_share = metric_info(heat->value).is_share();
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

void SharedColours::add(const Heat& heat) {
  for (const Heat::Value& one : heat.values) {
    if (!one.value || !std::isfinite(*one.value)) continue;
    low = std::min(low, *one.value);
    high = std::max(high, *one.value);
  }
}

Panel panel_of(const Heat& heat) {
  SharedColours colours;
  colours.is_share = metric_info(heat.value).is_share();
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
  panel.title = in_words(heat.title);
  const std::string words = in_words(heat.value);
  panel.description = fmt::format("A map of {} by {} and {}; the table has the values.", words, heat.x, heat.y);
  panel.data.title = heat.title.empty() ? words : panel.title;
  panel.data.columns = {
      {heat.x, heat.x, Kind::kNumber}, {heat.y, heat.y, Kind::kNumber}, {"value", words, Kind::kNumber}};
  HeatChart chart;
  for (const Heat::Value& one : heat.values) {
    panel.data.rows.push_back({static_cast<double>(one.x), static_cast<double>(one.y), page_cell(one.value)});
  }
  const bool any = colours.low <= colours.high;
  const double largest = any ? std::max(std::abs(colours.low), std::abs(colours.high)) : 0;
  // The full range of colours over differences that do not matter would make noise look like structure.
  constexpr double kLeastShare = 1e-3;
  const bool tiny = colours.is_share && any && largest < kLeastShare;
  const double reach = tiny ? kLeastShare : largest > 0 ? largest : 1;
  chart.diverging = any && colours.low < 0 && !metric_info(heat.value).is_log10();
  chart.low = chart.diverging ? -reach : colours.is_share || !any ? 0 : colours.low;  // equal colours, equal sizes
  chart.high = chart.diverging || tiny || !any ? reach : colours.high;
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
  std::set<Index> columns, lines;
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
