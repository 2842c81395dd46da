#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/page/curves.h"
#include "report/page/figures.h"
#include "report/page/lowrank_parts.h"

namespace rankfall {
namespace {

constexpr std::size_t kMostCurves = 12;  // of blocks; more cannot be told apart
constexpr const char* kTheorem = "theorem";

bool is_positive(std::optional<double> value) { return value && std::isfinite(*value) && *value > 0; }

// Means over heads, by block and k.
struct Mean {
  double sum = 0;
  Index n = 0;
};
using Curves = std::map<Index, std::map<Index, Mean>>;

Curves head_means(const Rows& rows, std::string_view metric) {
  Curves curves;
  for (const Row* row : with_metric(rows, metric)) {
    if (!row->layer || row->k.value_or(0) < 1 || !row->mean) continue;
    Mean& mean = curves[*row->layer][*row->k];
    mean.sum += *row->mean;
    ++mean.n;
  }
  return curves;
}

// Evenly spread over those there are, the first and the last among them.
std::vector<Index> some_of(const std::set<Index>& blocks) {
  std::vector<Index> all(blocks.begin(), blocks.end());
  if (all.size() <= kMostCurves) return all;
  std::vector<Index> out;
  for (std::size_t i = 0; i < kMostCurves; ++i) out.push_back(all[i * (all.size() - 1) / (kMostCurves - 1)]);
  return out;
}

CurveChart spectrum_chart(const Curves& curves, const std::vector<Index>& blocks) {
  constexpr double kRounding = 1e-15;  // beside the largest: no singular value but its rounding
  CurveChart chart;
  chart.x_title = "k";
  chart.series_title = "block";
  chart.log_x = true;
  for (const Index block : blocks) {
    const auto curve = curves.find(block);
    if (curve == curves.end()) continue;
    double largest = 0;
    for (const auto& [k, mean] : curve->second) {
      const double value = mean.sum / static_cast<double>(mean.n);
      largest = std::max(largest, value);
      if (!(value > kRounding * largest)) continue;
      CurvePoint point;
      point.x = static_cast<double>(k);
      point.series = fmt::format("block {}", block);
      point.value = value;
      point.n = mean.n;
      chart.points.push_back(std::move(point));
    }
  }
  return chart;
}

Figures spectra(const std::vector<RowGroup>& groups, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-spectra";
  figure.title = "Singular values of attention";
  figure.caption =
      "Singular values σₖ of the attention matrices P, a curve for each block, mean over its heads; and the share of "
      "‖P‖_F² in the first k of them, (σ₁² + … + σₖ²) / ‖P‖_F². A matrix of low rank has its curve down, and its share "
      "up, at a small k.";
  std::set<Index> blocks;
  for (const RowGroup& group : groups) {
    for (const Row* row : group.rows) {
      const bool spectrum = row->metric == "attention.singular" || row->metric == "attention.energy";
      if (spectrum && row->layer && row->k.value_or(0) >= 1 && row->mean) blocks.insert(*row->layer);
    }
  }
  const std::vector<Index> shown = some_of(blocks);
  std::vector<std::string> names;
  names.reserve(shown.size());
  for (const Index block : shown) names.push_back(fmt::format("block {}", block));
  figure.series = ordered_series(names);
  if (shown.size() < blocks.size()) {
    figure.notes.push_back(fmt::format("{} of {} blocks are drawn.", shown.size(), blocks.size()));
  }
  double error = 0;
  for (const RowGroup& group : groups) {
    for (const bool energy : {false, true}) {
      CurveChart chart =
          spectrum_chart(head_means(group.rows, energy ? "attention.energy" : "attention.singular"), shown);
      if (chart.points.empty()) continue;
      chart.title = panel_title(group, groups, energy ? "share in the first k" : "singular values");
      chart.y_title = energy ? "share of ‖P‖_F²" : "σₖ(P)";
      chart.series = figure.series;
      chart.log_first = !energy;
      chart.only_linear = energy;
      if (energy) chart.domain = {0, 1.02};
      chart.description = fmt::format("{} of the attention matrices of {} against k, one curve for each block.",
                                      energy ? "Shares of the squared norm" : "Singular values", name_of(group));
      figure.panels.push_back(curve_panel(std::move(chart)));
    }
    for (const Row* row : with_metric(group.rows, "attention.singular.error")) {
      error = std::max(error, row->mean.value_or(0));
    }
  }
  if (error > 0 && std::isfinite(error)) {
    figure.notes.push_back(fmt::format("No singular value is off by more than {}.", significant(error, 2)));
  }
  if (figure.panels.empty()) return {};
  return {std::move(figure)};
}

Figures rank_maps(const std::vector<RowGroup>& groups, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-ranks";
  figure.title = "Numerical rank by head";
  figure.caption =
      "Number of singular values of each head's P above eps σ₁, mean over samples; block and head count from zero.";
  figure.collapsed = true;
  bool lower = false;
  for (const RowGroup& group : groups) {
    std::map<std::string, Rows> by_eps;
    for (const Row* row : with_metric(group.rows, "attention.rank.numerical")) {
      if (row->layer && row->head) by_eps[row->kind].push_back(row);
      lower = lower || row->status == Status::kAtLeast;
    }
    for (const auto& [eps, rows] : by_eps) {
      Panel panel = head_panel(rows, "attention.rank.numerical");
      panel.title = panel_title(group, groups, eps);
      figure.panels.push_back(std::move(panel));
    }
  }
  if (lower) figure.notes.emplace_back("Of samples whose spectrum was computed in part these are lower bounds.");
  if (figure.panels.empty()) return {};
  return {std::move(figure)};
}

Figures scaling(const std::vector<RowGroup>& groups, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-scaling";
  figure.title = "The second singular value against the number of tokens";
  figure.caption =
      "σ₂(P) of n tokens, mean over the heads of a block: of the model, and of the theorem's matrices, softmax of "
      "independent normal logits as large as the model's, for which σ₂ = O(n^−1/2).";
  Names kinds;
  std::vector<std::string> slopes;
  for (const RowGroup& group : groups) {
    for (const Row* row : with_metric(group.rows, "scaling.sigma2")) kinds.add(row->kind);
    std::string text;
    for (const Row* row : with_metric(group.rows, "scaling.exponent")) {
      if (!row->mean || !std::isfinite(*row->mean)) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row->kind, exponent_text(*row));
    }
    if (!text.empty()) slopes.push_back(fmt::format("{} ({})", text, name_of(group)));
  }
  if (!slopes.empty()) {
    if (slopes.size() > 3) slopes.resize(3);
    figure.caption += fmt::format(" Fitted exponents of n: {}.", fmt::join(slopes, "; "));
  }
  for (const std::string& kind : kinds.list()) {
    const std::string title = kind == "model"         ? "model: its states, put side by side"
                              : kind == "independent" ? "independent: normal logits"
                                                      : kind;
    figure.series.push_back(numbered_series(kind, title, figure.series.size()));
  }
  figure.series.push_back(reference_series(kTheorem, "slope −1/2"));
  for (const RowGroup& group : groups) {
    CurveChart chart;
    std::map<double, double> reference;  // the theorem's matrices, where there are any
    for (const Row* row : with_metric(group.rows, "scaling.sigma2")) {
      if (row->tokens.value_or(0) < 1 || !is_positive(row->mean)) continue;
      CurvePoint point;
      point.x = static_cast<double>(*row->tokens);
      point.series = row->kind;
      point.value = row->mean;
      point.n = row->n;
      set_band(point, *row);
      if (row->kind == "independent") reference[point.x] = *row->mean;
      chart.points.push_back(std::move(point));
    }
    if (chart.points.empty()) continue;
    if (reference.size() > 1) {
      const auto [n0, sigma0] = *reference.begin();
      for (const double n : {n0, reference.rbegin()->first}) {
        CurvePoint point;
        point.x = n;
        point.series = kTheorem;
        point.value = sigma0 * std::sqrt(n0 / n);
        chart.points.push_back(std::move(point));
      }
    }
    chart.title = name_of(group);
    chart.x_title = "tokens n";
    chart.y_title = "σ₂(P)";
    chart.series_title = "matrices";
    chart.series = figure.series;
    chart.log_x = chart.log_first = true;
    chart.wide = groups.size() == 1;
    chart.description = fmt::format(
        "The second singular value of attention of {} against the number of tokens, both logarithmic.", name_of(group));
    figure.panels.push_back(curve_panel(std::move(chart)));
  }
  if (Dataset table = exponents_table(groups, "scaling.exponent", "exponents of n in σ₂"); !table.rows.empty()) {
    figure.tables.push_back(std::move(table));
  }
  if (figure.panels.empty()) return {};
  return {std::move(figure)};
}

Figures kinds_of_attention(const Result& result, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-kinds";
  figure.title = "Other kinds of attention";
  figure.caption =
      "How far the hidden states of the same weights with another kind of attention are from the network's own, "
      "‖X' − X‖_F / ‖X‖_F; and the same of what is left of X without its token mean, which is what tells tokens apart. "
      "A state of zeros would be 1 away.";
  Names models, kinds;
  Dataset refused;
  refused.title = "kinds that do not fit the model";
  refused.columns = {{"model", "model", PageColumn::Kind::kText},
                     {"kind", "kind", PageColumn::Kind::kText},
                     {"reason", "reason", PageColumn::Kind::kText}};
  for (const Row& row : result.rows) {
    if (!row.metric.starts_with("state.distance")) continue;
    if (row.layer) {
      models.add(row.model);
      kinds.add(row.variant);
    } else if (row.status == Status::kRefused) {
      refused.rows.push_back({row.model, row.variant, fmt::to_string(row.verdict)});
    }
  }
  figure.series = numbered_series(kinds.list());
  for (const std::string& model : models.list()) {
    for (const bool residual : {false, true}) {
      CurveChart chart;
      for (const Row& row : result.rows) {
        if (row.model != model || row.metric != (residual ? "state.distance.residual" : "state.distance")) continue;
        if (!row.layer || !row.mean) continue;
        CurvePoint point;
        point.x = static_cast<double>(*row.layer);
        point.series = row.variant;
        if (*row.mean != 0) point.value = row.mean;  // 0 has no place on a logarithmic scale
        point.note = *row.mean == 0 ? "exactly 0" : fmt::to_string(row.verdict);
        point.n = row.n;
        chart.points.push_back(std::move(point));
      }
      if (chart.points.empty()) continue;
      const std::string what = residual ? "less the token mean" : "whole states";
      chart.title = models.list().size() > 1 ? fmt::format("{}: {}", model, what) : what;
      chart.x_title = "layer";
      chart.y_title = "distance";
      chart.series_title = "attention";
      chart.series = figure.series;
      chart.description = fmt::format(
          "Distance of hidden states of {} from its own over layers, one curve for each kind of attention.", model);
      figure.panels.push_back(curve_panel(std::move(chart)));
    }
  }
  Dataset products;
  products.title = "products per query, as measured";
  products.columns = {{"model", "model", PageColumn::Kind::kText},
                      {"kind", "kind", PageColumn::Kind::kText},
                      {"products", "products per query", PageColumn::Kind::kNumber}};
  for (const Row& row : result.rows) {
    if (row.metric == "state.products" && row.mean) products.rows.push_back({row.model, row.variant, *row.mean});
  }
  if (!products.rows.empty()) figure.tables.push_back(std::move(products));
  if (!refused.rows.empty()) figure.tables.push_back(std::move(refused));
  if (figure.panels.empty() && figure.tables.empty()) return {};
  return {std::move(figure)};
}

}  // namespace

Figures lowrank_figures(const Result& result, const FigureContext& context) {
  std::vector<RowGroup> groups = by_variant(result);
  // Kinds of attention are variants of their own, and have a figure of their own.
  std::erase_if(groups, [](const RowGroup& group) {
    return std::ranges::all_of(group.rows, [](const Row* row) { return row->metric.starts_with("state."); });
  });
  Figures figures;
  for (const auto make : {spectra, scaling, sketch_figures}) {
    for (Figure& figure : make(groups, context)) figures.push_back(std::move(figure));
  }
  for (Figure& figure : kinds_of_attention(result, context)) figures.push_back(std::move(figure));
  for (Figure& figure : rank_maps(groups, context)) figures.push_back(std::move(figure));
  if (figures.empty()) return plain_figures(result, context);
  return figures;
}

}  // namespace rankfall
