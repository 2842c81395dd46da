#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/page/curves.h"
#include "report/page/lowrank_parts.h"

namespace rankfall {
namespace {

constexpr const char* kClaimed = "k claimed";
constexpr const char* kAll = "k = n";

std::string claim_formula(const std::string& claim) {
  if (claim == "relative") return "|P Rᵀ R w − P w| ≤ eps |P w|";
  if (claim == "norms") return "|P Rᵀ R w − P w| ≤ eps ‖P‖_F |w|";
  return "P Rᵀ R w for P w";
}

std::string kind_title(const std::string& kind) {
  if (kind == "values") return "w = X W_V a, a normal";
  if (kind == "gaussian") return "w normal";
  return kind == "mean_free" ? "w normal, less its mean" : kind;
}

std::string tokens_name(Index tokens) { return fmt::format("n = {}", tokens); }

// Rates of one group's kind of w for one claim, with their intervals.
std::vector<CurvePoint> failures(const Rows& rows, const std::string& claim, const std::string& kind) {
  std::map<std::pair<Index, Index>, CurvePoint> points;  // by n and k
  std::map<Index, double> claimed;
  for (const Row* row : rows) {
    if (!row->tokens || !row->mean) continue;
    if (row->metric == "jl.k_claimed") claimed[*row->tokens] = *row->mean;  // one for all claims
    if (row->claim != claim) continue;
    if (!row->metric.starts_with("jl.failure") || row->kind != kind || row->k.value_or(0) < 1) continue;
    CurvePoint& point = points[{*row->tokens, *row->k}];
    if (row->metric == "jl.failure") {
      point.value = row->mean;
      point.n = row->n;
      if (!row->verdict.empty()) point.note = fmt::to_string(row->verdict);
    }
    if (row->metric == "jl.failure.low") point.low = row->mean;
    if (row->metric == "jl.failure.high") point.high = row->mean;
  }
  std::vector<CurvePoint> out;
  for (auto& [place, point] : points) {
    if (!point.value) continue;
    point.x = static_cast<double>(place.second);
    point.series = tokens_name(place.first);
    const auto k = claimed.find(place.first);
    if (k != claimed.end() && std::abs(k->second - point.x) < 1) {
      point.note = point.note.empty() ? "the k claimed" : "the k claimed; " + point.note;
    }
    out.push_back(std::move(point));
  }
  return out;
}

// In the order of their first use.
std::vector<std::string> claims_of(const std::vector<RowGroup>& groups) {
  Names claims;
  for (const RowGroup& group : groups) {
    for (const Row* row : group.rows) {
      const bool has_claim = row->metric == "jl.failure" || row->metric == "jl.k_needed";
      if (has_claim && row->tokens) claims.add(row->claim);
    }
  }
  return claims.list();
}

std::vector<std::string> kinds_of(const RowGroup& group, const std::string& claim, std::string_view metric) {
  Names kinds;
  for (const Row* row : with_metric(group.rows, metric)) {
    if (row->claim == claim && row->tokens) kinds.add(row->kind);
  }
  return kinds.list();
}

Figures failure_rates(const std::vector<RowGroup>& groups, const FigureContext& context) {
  Figures figures;
  for (const std::string& claim : claims_of(groups)) {
    Figure figure;
    figure.id = fmt::format("{}-failures-{}", context.id, figures.size() + 1);
    figure.title = fmt::format("How often Johnson-Lindenstrauss fails: claim “{}”", claim);
    figure.caption = fmt::format(
        "Share of draws of R (k × n, entries N(0, 1/k)) for which {} does not hold, against k, a curve for each number "
        "of tokens n; bands: 95 % (Clopper and Pearson).",
        claim_formula(claim));
    figure.notes.emplace_back("Tooltip and table say which k is the one claimed, 5 ln n / (eps² − eps³).");
    std::vector<CurveChart> charts;
    std::set<Index> tokens;
    for (const RowGroup& group : groups) {
      for (const Row* row : with_metric(group.rows, "jl.failure")) {
        if (row->claim == claim && row->tokens) tokens.insert(*row->tokens);
      }
      for (const std::string& kind : kinds_of(group, claim, "jl.failure")) {
        CurveChart chart;
        chart.points = failures(group.rows, claim, kind);
        if (chart.points.empty()) continue;
        chart.title = panel_title(group, groups, kind_title(kind));
        chart.description = fmt::format("Rates of failure of {} against k, {}, one curve for each number of tokens.",
                                        name_of(group), kind_title(kind));
        charts.push_back(std::move(chart));
      }
    }
    std::vector<std::string> names;
    names.reserve(tokens.size());
    for (const Index n : tokens) names.push_back(tokens_name(n));
    figure.series = ordered_series(names);
    for (CurveChart& chart : charts) {
      chart.x_title = "k";
      chart.y_title = "share of draws that fail";
      chart.series_title = "tokens";
      chart.series = figure.series;
      chart.log_x = chart.only_linear = true;
      chart.domain = {0, 1.02};
      figure.panels.push_back(curve_panel(std::move(chart)));
    }
    if (!figure.panels.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

// What one claim needs and what is claimed, against n.
CurveChart needs_chart(const RowGroup& group, const std::string& claim) {
  CurveChart chart;
  std::map<Index, double> claimed;
  std::set<Index> tokens;
  for (const Row* row : group.rows) {
    if (row->tokens.value_or(0) < 1 || !row->mean || !(*row->mean > 0)) continue;
    if (row->metric == "jl.k_claimed") claimed[*row->tokens] = *row->mean;
    if (row->metric != "jl.k_needed" || row->claim != claim) continue;
    tokens.insert(*row->tokens);
    CurvePoint point;
    point.x = static_cast<double>(*row->tokens);
    point.series = row->kind;
    point.value = row->mean;
    point.note = fmt::to_string(row->verdict);
    chart.points.push_back(std::move(point));
  }
  const auto add = [&](const char* series, Index n, double k) {
    CurvePoint point;
    point.x = static_cast<double>(n);
    point.series = series;
    point.value = k;
    if (series == kClaimed && k >= point.x) point.note = "k >= n";
    chart.points.push_back(std::move(point));
  };
  for (const auto& [n, k] : claimed) {
    tokens.insert(n);
    add(kClaimed, n, k);
  }
  for (const Index n : tokens) add(kAll, n, static_cast<double>(n));
  return chart;
}

Figures needs(const std::vector<RowGroup>& groups, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-needs";
  figure.title = "How many rows a Johnson-Lindenstrauss projection needs";
  figure.caption =
      "The smallest k with which no more than the share allowed of the draws fails, by kind of w, beside the k "
      "claimed, "
      "5 ln n / (eps² − eps³), against the number of tokens n. At k = n nothing is saved: P Rᵀ R w is no cheaper than "
      "P w.";
  Names kinds;
  for (const RowGroup& group : groups) {
    for (const Row* row : with_metric(group.rows, "jl.k_needed")) kinds.add(row->kind);
  }
  for (const std::string& kind : kinds.list()) {
    figure.series.push_back(numbered_series(kind, kind_title(kind), figure.series.size()));
  }
  figure.series.push_back(numbered_series(kClaimed, "k claimed", 4));
  figure.series.push_back(reference_series(kAll, kAll));
  for (const std::string& claim : claims_of(groups)) {
    for (const RowGroup& group : groups) {
      CurveChart chart = needs_chart(group, claim);
      if (chart.points.empty()) continue;
      chart.title = panel_title(group, groups, fmt::format("claim “{}”: {}", claim, claim_formula(claim)));
      chart.x_title = "tokens n";
      chart.y_title = "k";
      chart.series_title = "k";
      chart.series = figure.series;
      chart.log_x = chart.log_first = true;
      chart.description =
          fmt::format("k needed and k claimed of {} for the claim {} against the number of tokens, both logarithmic.",
                      name_of(group), claim);
      figure.panels.push_back(curve_panel(std::move(chart)));
    }
  }
  constexpr std::size_t kMostNotes = 8;
  for (const RowGroup& group : groups) {
    for (const Row* row : with_metric(group.rows, "jl.statement")) {
      if (row->verdict.empty() || figure.notes.size() >= kMostNotes) continue;
      figure.notes.push_back(fmt::format("{}: {}", name_of(group), row->verdict));
    }
  }
  if (Dataset table = exponents_table(groups, "jl.growth", "how the k needed grows with n"); !table.rows.empty()) {
    figure.tables.push_back(std::move(table));
  }
  if (figure.panels.empty() && figure.tables.empty()) return {};
  return {std::move(figure)};
}

}  // namespace

Figures sketch_figures(const std::vector<RowGroup>& groups, const FigureContext& context) {
  Figures figures = needs(groups, context);
  for (Figure& figure : failure_rates(groups, context)) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace rankfall
