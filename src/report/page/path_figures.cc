#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "report/metric_text.h"
#include "report/page/curves.h"
#include "report/page/figures.h"
#include "report/table_text.h"

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;

// Blocks and heads beyond this are no network's; a file may say anything.
constexpr Index kMostBlocks = 100'000;

bool is_place(Index index) { return index >= 0 && index < kMostBlocks; }

// Those of a path that can be drawn.
Heads drawn_heads(const Row& row) {
  Heads heads = row.path.value_or(Heads{});
  std::erase_if(heads, [](const Head& head) { return !is_place(head.block) || !is_place(head.head); });
  return heads;
}

// Where a path begins: the block whose MLP or bias it comes from, or -1.
Index first_block(const std::optional<Origin>& origin) {
  const Index block = origin ? origin->block.value_or(-1) : -1;
  return is_place(block) ? block : -1;
}

std::string origin_name(const Row& row) { return row.origin ? to_string(*row.origin) : ""; }

// Every index below n, or every second, fifth ... so that there are not many.
std::vector<double> index_ticks(Index n, Index most) {
  std::vector<double> ticks;
  for (Index i = 0; i < n; i += std::max<Index>(1, (n + most - 1) / most)) ticks.push_back(static_cast<double>(i));
  return ticks;
}

std::string length_name(Index length) { return length == 1 ? "1 head" : fmt::format("{} heads", length); }

// Figure 1: blocks from left to right, heads as lanes, the skip as the lane below them.
Figures path_pictures(const RowGroup& group, const FigureContext& context, std::size_t number) {
  const Rows tops = with_metric(group.rows, "path.share.residual");
  if (tops.empty()) return {};
  Index n_blocks = 0, n_heads = 1;
  for (const Row* row : group.rows) {
    if (row->layer && is_place(*row->layer)) n_blocks = std::max(n_blocks, *row->layer + (row->head ? 1 : 0));
    if (row->head && is_place(*row->head)) n_heads = std::max(n_heads, *row->head + 1);
    n_blocks = std::max(n_blocks, first_block(row->origin) + 1);
    for (const Head& head : drawn_heads(*row)) {
      n_blocks = std::max(n_blocks, head.block + 1);
      n_heads = std::max(n_heads, head.head + 1);
    }
  }
  Panel panel;
  panel.wide = true;
  panel.title = fmt::format("{} {}", group.model, group.variant);
  panel.data.title = "points of the drawing";
  panel.tabled = false;
  panel.description = fmt::format(
      "The heaviest paths through {}, drawn from the input at the left to the output at the "
      "right; the table lists them.",
      group.model);
  panel.data.columns = {{"series", "length", Kind::kText}, {"path", "path", Kind::kText},
                        {"origin", "origin", Kind::kText}, {"x", "x", Kind::kNumber},
                        {"lane", "lane", Kind::kNumber},   {"share", "share", Kind::kNumber},
                        {"size", "", Kind::kNumber},       {"rank", "rank", Kind::kNumber}};
  Dataset list;
  list.title = "the heaviest paths";
  list.columns = {{"rank", "rank", Kind::kNumber},
                  {"path", "path", Kind::kText},
                  {"origin", "begins at", Kind::kText},
                  {"share", "share of the residual", Kind::kNumber},
                  {"note", "note", Kind::kText}};
  std::map<Index, bool> lengths;
  const auto n = static_cast<double>(tops.size());
  for (std::size_t i = 0; i < tops.size(); ++i) {
    const Row& row = *tops[i];
    const double share = row.mean.value_or(0);
    const Index length = row.length.value_or(0);
    lengths[length] = true;
    const std::string name = row.path ? to_string(*row.path) : "";
    const std::string origin = origin_name(row);
    list.rows.push_back({cell(row.k), name, origin, cell(row.mean), cell(fmt::to_string(row.verdict))});
    const std::string id = fmt::format("{} from {}", name, origin);
    const double aside = ((static_cast<double>(i) + 0.5) / n - 0.5) * 0.6;  // paths on one lane beside each other
    const auto at = [&](double x, double lane) {
      panel.data.rows.push_back({length_name(length), id, origin, x, lane, share, std::abs(share), cell(row.k)});
    };
    const Heads heads = drawn_heads(row);
    const Index begin = first_block(row.origin);
    const double bottom = -1.5 + aside;
    at(static_cast<double>(begin < 0 ? -1 : begin) + (begin < 0 ? 0.5 : 0), bottom);
    for (const Head& head : heads) {
      const double x = static_cast<double>(head.block);
      if (x - 0.5 > static_cast<double>(begin)) at(x - 0.45, bottom);
      at(x, static_cast<double>(head.head) + aside / 2);
      at(x + 0.45, bottom);
    }
    at(static_cast<double>(n_blocks) - 0.25, bottom);
  }
  Figure figure;
  figure.id = fmt::format("{}-picture-{}", context.id, number);
  figure.title = "The heaviest paths";
  figure.caption =
      "Paths through the network, as in the paper's Figure 1: in each block a path goes through one head (a lane) or "
      "past "
      "all of them (the skip, below). Width: the size of the path's share of the output's residual; the table says "
      "which are "
      "negative.";
  for (const auto& [length, used] : lengths) {
    figure.series.push_back(
        numbered_series(length_name(length), length_name(length), static_cast<std::size_t>(length)));
  }
  LineChart chart;
  chart.x = axis_of("x", "block");
  chart.x.format = "d";
  chart.x.domain = {{-0.8, static_cast<double>(n_blocks)}};
  chart.x.ticks = index_ticks(n_blocks, 24);
  chart.y = axis_of("lane", "head");
  chart.y.label = "datum.value < 0 ? 'skip' : format(datum.value, 'd')";
  chart.y.domain = {{-2.2, static_cast<double>(n_heads) - 0.3}};
  chart.y.ticks = index_ticks(n_heads, 16);
  chart.y.ticks.insert(chart.y.ticks.begin(), -1.5);
  chart.series = figure.series;
  chart.series_title = "heads on the path";
  chart.points = false;
  chart.detail = "path";
  chart.order = "x";
  chart.width_field = "size";
  chart.tooltip = {{"path", false}, {"share", true}, {"rank", true}};
  chart.height = 340;
  panel.views.emplace_back("paths", line_spec(chart));
  figure.panels.push_back(std::move(panel));
  figure.tables.push_back(std::move(list));
  return {std::move(figure)};
}

std::string origin_group(const Origin& origin) { return to_string(Origin{origin.kind, {}}); }

// Shares by length in the last state, stacked by origin.
Figures length_shares(const RowGroup& group, const FigureContext& context, std::size_t number) {
  Index last = -1;
  for (const Row* row : group.rows) {
    if (row->metric == "paths.share.projection" && row->layer) last = std::max(last, *row->layer);
  }
  if (last < 0) return {};
  Figure figure;
  figure.id = fmt::format("{}-lengths-{}", context.id, number);
  figure.title = "What paths of each length contribute";
  figure.caption = fmt::format(
      "Exact sums over all paths of each length in state {} of {} {}, by where they begin; each panel's bars add up to "
      "1.",
      last, group.model, group.variant);
  Names origins;
  for (const auto& [metric, title] : {std::pair("paths.share.residual", "share of the residual"),
                                      std::pair("paths.share.projection", "share of the state")}) {
    Panel panel;
    panel.title = title;
    panel.description =
        fmt::format("Bars of the {} by path length, stacked by origin; the table has the values.", title);
    panel.data.title = title;
    panel.data.columns = {
        {"series", "origin", Kind::kText}, {"length", "length", Kind::kNumber}, {"value", title, Kind::kNumber}};
    std::map<std::pair<std::string, Index>, double> sums;
    for (const Row* row : with_metric(group.rows, metric)) {
      if (row->layer != last || !row->length || !row->origin || row->origin->kind == Origin::Kind::kAll ||
          !row->kind.empty())
        continue;
      if (!row->mean) continue;
      const std::string origin = origin_group(*row->origin);
      origins.add(origin);
      sums[{origin, *row->length}] += *row->mean;
    }
    if (sums.empty()) continue;
    for (const auto& [key, sum] : sums) {
      panel.data.rows.push_back({key.first, static_cast<double>(key.second), sum});
    }
    figure.panels.push_back(std::move(panel));
  }
  figure.series = numbered_series(origins.list());
  for (Panel& panel : figure.panels) {
    BarChart chart;
    chart.x = axis_of("length", "heads on the path");
    chart.y = axis_of("value", panel.title);
    chart.series = figure.series;
    chart.series_title = "origin";
    chart.tooltip = {{"series", false}, {"length", true}, {"value", true}};
    panel.views.emplace_back("bars", bar_spec(chart));
  }
  if (figure.panels.empty()) return {};
  return {std::move(figure)};
}

Figures head_shares(const RowGroup& group, const FigureContext& context, std::size_t number) {
  Figure figure;
  figure.id = fmt::format("{}-heads-{}", context.id, number);
  figure.title = "What passes through each head";
  figure.caption =
      fmt::format("Shares of all paths through a head in the output of {} {}.", group.model, group.variant);
  for (const char* metric : {"head.share.residual", "head.share.projection"}) {
    if (const Rows rows = with_metric(group.rows, metric); !rows.empty())
      figure.panels.push_back(head_panel(rows, metric));
  }
  if (figure.panels.empty()) return {};
  return {std::move(figure)};
}

struct Sampled {
  const char *metric, *title;
};

// Quartiles over random paths of each length; the published box-plot beside them.
Figures sampled_paths(const RowGroup& group, const FigureContext& context, std::size_t number) {
  constexpr Sampled kSampled[] = {
      {"path.attention_reversed.rank1_remainder.composite", "rankfall, exact"},
      {"path.attention_reversed.rank1_remainder_f32.composite", "rankfall, float32"},
      {"published.rank1_remainder.composite", "published"},
      {"path.attention.relative_residual.composite", "chained attention P"},
      {"path.term.relative_residual.composite", "the path's term"},
      {"rerun.relative_residual.composite", "the path run by itself"},
  };
  Figure figure;
  figure.id = fmt::format("{}-sampled-{}", context.id, number);
  CurveChart chart;
  chart.title = fmt::format("{} {}", group.model, group.variant);
  chart.x_title = "heads on the path";
  chart.y_title = "relative remainder";
  chart.series_title = "curve";
  chart.log_first = true;
  chart.bars = true;
  chart.wide = true;
  bool published = false;
  const bool has_published = !with_metric(group.rows, "published.rank1_remainder.composite").empty();
  for (const Sampled& sampled : kSampled) {
    // Relative residuals are another thing than the published distances from rank 1.
    if (has_published && std::string_view(sampled.metric).find("rank1_remainder") == std::string_view::npos) continue;
    std::map<Index, CurvePoint> points;
    for (const Row* row : with_metric(group.rows, sampled.metric)) {
      if (!row->length || !row->mean) continue;
      CurvePoint& point = points[*row->length];
      point.x = static_cast<double>(*row->length);
      point.series = sampled.title;
      if (row->kind == "median") point.value = row->mean;
      if (row->kind == "q1") point.low = row->mean;
      if (row->kind == "q3") point.high = row->mean;
      if (row->n) point.n = row->n;
    }
    if (points.empty()) continue;
    published = published || std::string_view(sampled.title) == "published";
    figure.series.push_back(numbered_series(sampled.title, sampled.title, figure.series.size()));
    for (auto& [length, point] : points) chart.points.push_back(std::move(point));
  }
  if (figure.series.empty()) return {};
  figure.title = published ? "Chained attention along single paths" : "Random paths of each length";
  figure.caption =
      published
          ? "How far the product of the attention matrices along random paths is from rank 1: median and quartiles "
            "by length. From length 4 on the published values are the floor of a float32 SVD."
          : "Median and quartiles over random paths of each length.";
  if (published) chart.y_title = "distance from rank 1";
  chart.series = figure.series;
  chart.description = figure.caption;
  figure.panels.push_back(curve_panel(std::move(chart)));
  return {std::move(figure)};
}

Figures interference(const RowGroup& group, const FigureContext& context, std::size_t number) {
  const Rows rows = with_metric(group.rows, "paths.gram.residual");
  if (rows.empty()) return {};
  Figure figure;
  figure.id = fmt::format("{}-interference-{}", context.id, number);
  figure.title = "Interference of lengths";
  figure.caption = "Inner products of the residuals of all paths of two lengths; negative ones cancel.";
  HeatPanel map;
  map.x = "length";
  map.y = "other length";
  map.value = map.value_title = "product";
  map.x_of = &Row::length;
  map.y_of = &Row::k;
  figure.panels.push_back(heat_panel(rows, map));
  return {std::move(figure)};
}

}  // namespace

Figures path_figures(const Result& result, const FigureContext& context) {
  Figures figures;
  std::size_t number = 0;
  for (const RowGroup& group : by_variant(result)) {
    ++number;
    for (const auto make : {path_pictures, length_shares, head_shares, sampled_paths, interference}) {
      for (Figure& figure : make(group, context, number)) figures.push_back(std::move(figure));
    }
  }
  if (figures.empty()) return plain_figures(result, context);
  return figures;
}

Figures count_figures(const Result& result, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-lengths";
  figure.title = "Path lengths of known architectures";
  figure.caption =
      "Share of all (H+1)^L paths that have each length, C(L,k) H^k / (H+1)^L, with the published curves dashed (they "
      "coincide).";
  CurveChart chart;
  chart.x_title = "path length";
  chart.y_title = "share of all paths";
  chart.series_title = "architecture";
  chart.log_x = true;
  chart.only_linear = true;
  chart.wide = true;
  Names models;
  bool published = false;
  for (const Row& row : result.rows) {
    const bool drawn = row.metric == "published.proportion";
    if ((row.metric != "paths.proportion" && !drawn) || row.length.value_or(0) < 1) continue;
    models.add(row.model);
    published = published || drawn;
    CurvePoint point;
    point.x = static_cast<double>(*row.length);
    point.series = row.model;
    point.source = drawn ? "published" : "formula";
    point.value = row.mean;
    chart.points.push_back(std::move(point));
  }
  if (chart.points.empty()) return plain_figures(result, context);
  figure.series = numbered_series(models.list());
  for (Series& series : figure.series) series.dash.clear();  // dashes say the source
  chart.series = figure.series;
  if (published) {
    chart.sources = {"formula", "published"};
    chart.source_title = "source";
  }
  chart.description =
      "Curves of the share of paths over their length, one for each architecture; the table has the values.";
  figure.notes.emplace_back("Length 0 is left out: the axis is logarithmic, as published.");
  figure.panels.push_back(curve_panel(std::move(chart)));
  Dataset totals;
  totals.title = "totals";
  totals.columns = {{"model", "architecture", Kind::kText},
                    {"paths", "paths in all", Kind::kText},
                    {"mean", "mean length", Kind::kNumber},
                    {"mode", "most frequent", Kind::kText},
                    {"deviation", "largest distance from the published curve", Kind::kNumber}};
  for (const std::string& model : models.list()) {
    std::vector<PageCell> cells = {model, {}, {}, {}, {}};
    std::string mode;
    for (const Row& row : result.rows) {
      if (row.model != model) continue;
      if (row.metric == "paths.total")
        cells[1] = cell(row.exact.empty() ? fmt::format("{}", row.mean.value_or(0)) : row.exact);
      if (row.metric == "paths.mean_length") cells[2] = cell(row.mean);
      if (row.metric == "paths.mode" && row.mean) mode += fmt::format("{}{}", mode.empty() ? "" : " and ", *row.mean);
      if (row.metric == "published.deviation") cells[4] = cell(row.mean);
    }
    cells[3] = cell(mode);
    totals.rows.push_back(std::move(cells));
  }
  figure.tables.push_back(std::move(totals));
  return {std::move(figure)};
}

}  // namespace rankfall
