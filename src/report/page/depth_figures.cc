#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "report/page/curves.h"
#include "report/page/figures.h"
#include "report/table_text.h"
#include "result/averaging.h"

namespace rankfall {
namespace {

using Kind = PageColumn::Kind;

std::string source_name(const std::string& kind) {
  if (kind == "f32") return "float32";
  return kind == "f64" ? "float64" : "exact";
}

// Curves over layers of one metric of one model; rows of single samples are left out.
CurveChart depth_chart(const Result& result, const std::string& model, std::string_view metric,
                       const std::vector<Series>& series) {
  CurveChart chart;
  chart.title = model;
  chart.x_title = "layer";
  chart.series = series;
  for (const Row& row : result.rows) {
    if (row.model != model || row.metric != metric || row.sample || !row.layer) continue;
    CurvePoint point;
    point.x = static_cast<double>(*row.layer);
    point.series = row.variant;
    point.source = source_name(row.kind);
    point.value = row.mean;
    point.n = row.n;
    point.note = fmt::to_string(row.verdict);
    chart.points.push_back(std::move(point));
  }
  return chart;
}

Dataset decay_table(const Result& result) {
  Dataset table;
  table.title = "how the residual falls";
  table.columns = {{"model", "model", Kind::kText},
                   {"variant", "variant", Kind::kText},
                   {"of", "of", Kind::kText},
                   {"verdict", "what is found", Kind::kText}};
  for (const Row& row : result.rows) {
    if (row.metric != "decay" && row.metric != "rounding_layer") continue;
    const bool decay = row.metric == "decay";
    const std::string text = decay || !row.mean ? fmt::to_string(row.verdict)
                                                : fmt::format("off by more than 12 % from layer {} on", *row.mean);
    table.rows.push_back(
        {row.model, row.variant,
         decay ? (row.kind == "residual" ? "absolute residual" : "relative residual") : source_name(row.kind),
         cell(text)});
  }
  return table;
}

std::string bound_title(const std::string& bound) {
  static const std::map<std::string_view, std::string_view> titles = {
      {"T2.2", "T2.2: Theorem 2.2, one head (claimed)"},
      {"T2.3", "T2.3: Theorem 2.3, as published (claimed)"},
      {"T2.3_sound", "T2.3_sound: as it can be proved (proved)"},
      {"certified", "certified: weights and data"},
      {"certified_frobenius", "certified_frobenius: the same, Frobenius norm"},
      {"dobrushin", "dobrushin: contraction of attention"},
      {"dobrushin_tanh", "dobrushin_tanh: from the range of logits"},
      {"lower", "lower: with skips, from below"}};
  const auto title = titles.find(bound);
  return title == titles.end() ? bound : std::string(title->second);
}

}  // namespace

Figures collapse_figures(const Result& result, const FigureContext& context) {
  constexpr std::string_view kMetric = "log10_relative_residual.composite";
  Names models, variants;
  for (const Row& row : result.rows) {
    if (row.metric != kMetric) continue;
    models.add(row.model);
    variants.add(row.variant);
  }
  Figure exact;
  exact.id = context.id + "-exact";
  exact.title = "The exact residual, far below rounding";
  exact.caption =
      "The relative residual tracked exactly; what float32 and float64 arithmetic show of the same networks is dashed "
      "and ends at their rounding floors.";
  exact.series = variant_series(variants.list());
  Figure rate;
  rate.id = context.id + "-exponent";
  rate.title = "How fast it falls";
  rate.caption =
      "The local exponent: each step of the logarithm over the step before it. 3 is cubing in every layer (doubly "
      "exponential), 1 is a constant factor (exponential).";
  rate.series = exact.series;
  const bool deep = std::ranges::any_of(result.rows, [&](const Row& row) {
    return row.metric == kMetric && row.kind == "exact" && row.mean.value_or(0) < kDeep;
  });
  for (const std::string& model : models.list()) {
    CurveChart chart = depth_chart(result, model, kMetric, exact.series);
    chart.deep = deep;  // one view for all models, or they cannot be compared
    chart.y_title = "relative residual (geometric mean)";
    chart.is_log10 = true;
    chart.sources = {"exact", "float32", "float64"};
    chart.source_title = "arithmetic";
    chart.description = fmt::format(
        "The relative residual of {} over layers as powers of ten, exact and as float32 and "
        "float64 show it; the table has the values.",
        model);
    exact.panels.push_back(curve_panel(std::move(chart)));

    CurveChart exponents = depth_chart(result, model, "local_exponent", exact.series);
    // A network that does not collapse has none that mean anything.
    if (std::ranges::none_of(exponents.points, [](const CurvePoint& point) { return point.value.has_value(); }))
      continue;
    exponents.y_title = "local exponent";
    exponents.only_linear = true;
    const bool usual = std::ranges::all_of(exponents.points, [](const CurvePoint& point) {
      return point.value.value_or(0) >= -0.2 && point.value.value_or(0) <= 3.6;
    });
    if (usual) exponents.domain = {{-0.2, 3.6}};
    exponents.description = fmt::format("The local exponent of the residual of {} over layers.", model);
    rate.panels.push_back(curve_panel(std::move(exponents)));
  }
  exact.tables.push_back(decay_table(result));
  exact.notes.push_back(fmt::format(
      "Each point is the {} over samples, that is the logarithm of the geometric mean; the arithmetic mean of the same "
      "samples, which other figures show, is larger.",
      words_of(averaging_of(kMetric))));
  exact.notes.emplace_back("Composite norm √(‖·‖₁ ‖·‖∞); math.md says how the residual is kept apart from the mean.");
  Figures figures;
  if (!exact.panels.empty()) figures.push_back(std::move(exact));
  if (!rate.panels.empty()) figures.push_back(std::move(rate));
  return figures.empty() ? plain_figures(result, context) : figures;
}

Figures bound_figures(const Result& result, const FigureContext& context) {
  // The distance of each bound from what it bounds, by block; of heads, the closest.
  struct Closest {
    std::optional<double> distance;
    std::string note;
  };
  constexpr std::string_view kPrefix = "log10_tightness.";
  std::map<std::string, std::map<std::string, std::map<std::string, std::map<Index, Closest>>>> found;
  Names models, variants, bounds;
  for (const Row& row : result.rows) {
    if (!row.metric.starts_with(kPrefix) || !row.layer || !row.mean) continue;
    const std::string bound = row.metric.substr(kPrefix.size());
    models.add(row.model);
    variants.add(row.variant);
    bounds.add(bound);
    Closest& closest = found[row.model][row.variant][bound][*row.layer];
    if (closest.distance && *closest.distance <= -*row.mean) continue;
    closest.distance = -*row.mean;
    closest.note = fmt::to_string(row.verdict);
  }
  Figure figure;
  figure.id = context.id + "-bounds";
  figure.title = "How far each bound is off";
  figure.caption =
      "By how many powers of ten each bound misses what it bounds, block by block: 10⁰ is exact, less is a violation "
      "wherever the theorem's condition is met.";
  figure.notes.emplace_back(
      "Of bounds for single heads the closest one is drawn; of the lower bound measured / bound. Points where a "
      "condition "
      "fails or the bound says nothing are drawn, too: tooltip and table say so. \"claimed\": as the paper states it; "
      "\"proved\": as it can be proved (theory.md).");
  for (std::size_t i = 0; i < bounds.list().size(); ++i) {
    figure.series.push_back(numbered_series(bounds.list()[i], bound_title(bounds.list()[i]), i));
  }
  for (const std::string& model : models.list()) {
    for (const std::string& variant : variants.list()) {
      CurveChart chart;
      chart.title = fmt::format("{} {}", model, variant);
      chart.x_title = "block";
      chart.y_title = "bound / measured";
      chart.series_title = "bound";
      chart.series = figure.series;
      chart.is_log10 = true;
      chart.zero = true;
      chart.description = fmt::format(
          "Bound over measurement of {} {} by block, one curve for each bound, as powers of ten.", model, variant);
      for (const auto& [bound, blocks] : found[model][variant]) {
        for (const auto& [block, closest] : blocks) {
          CurvePoint point;
          point.x = static_cast<double>(block);
          point.series = bound;
          point.value = closest.distance;
          point.note = closest.note;
          chart.points.push_back(std::move(point));
        }
      }
      if (!chart.points.empty()) figure.panels.push_back(curve_panel(std::move(chart)));
    }
  }
  Dataset theorems;
  theorems.title = "what became of each theorem";
  theorems.columns = {{"model", "model", Kind::kText},        {"variant", "variant", Kind::kText},
                      {"theorem", "theorem", Kind::kText},    {"kind", "kind", Kind::kText},
                      {"verdict", "verdict", Kind::kVerdict}, {"n", "cases", Kind::kNumber}};
  for (const Row& row : result.rows) {
    if (row.metric != "theorem") continue;
    theorems.rows.push_back({row.model, row.variant, row.claim, row.kind,
                             Badge{tone_of(row.status), fmt::to_string(row.verdict)}, cell(row.n)});
  }
  if (!theorems.rows.empty()) figure.tables.push_back(std::move(theorems));
  if (figure.panels.empty() && figure.tables.empty()) return plain_figures(result, context);
  return {std::move(figure)};
}

namespace {

// One line for each claim, from rows PREFIX.statement, PREFIX.verdict ...
Dataset claim_table(const Result& result, const std::string& prefix, std::string_view statement) {
  struct Claim {
    std::string statement, evidence;
    Badge verdict;
    std::optional<double> found;
    std::optional<Index> n;
  };
  std::map<std::string, Claim> claims;
  Names order;
  for (const Row& row : result.rows) {
    if (!row.metric.starts_with(prefix)) continue;
    order.add(row.claim);
    Claim& claim = claims[row.claim];
    const std::string_view what = std::string_view(row.metric).substr(prefix.size());
    if (what == statement) claim.statement = fmt::to_string(row.verdict);
    if (what == "evidence") claim.evidence = fmt::to_string(row.verdict);
    if (what == "stopped") claim.evidence += fmt::format("; {}", row.verdict);
    if (what != "verdict") continue;
    const bool unexpected = row.kind == "unexpected";
    claim.verdict = {unexpected ? Tone::kBad : tone_of(row.status),
                     fmt::format("{}{}", unexpected ? "unexpected: " : "", row.verdict)};
    claim.found = row.mean;
    claim.n = row.n;
  }
  Dataset table;
  table.columns = {{"claim", "claim", Kind::kText},        {"statement", std::string(statement), Kind::kText},
                   {"verdict", "verdict", Kind::kVerdict}, {"evidence", "evidence", Kind::kText},
                   {"found", "value", Kind::kNumber},      {"n", "n", Kind::kNumber}};
  for (const std::string& name : order.list()) {
    const Claim& claim = claims.at(name);
    table.rows.push_back(
        {name, cell(claim.statement), claim.verdict, cell(claim.evidence), cell(claim.found), cell(claim.n)});
  }
  return table;
}

}  // namespace

Figures audit_figures(const Result& result, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-claims";
  figure.title = "Every claim, and what a search for counterexamples found";
  figure.caption =
      "Inequalities are searched for counterexamples and the best ones evaluated with a hundred digits; statements "
      "about "
      "networks are measured.";
  figure.tables.push_back(claim_table(result, "audit.", "statement"));
  figure.tables.back().title = "claims";
  return {std::move(figure)};
}

Figures agreement_figures(const Result& result, const FigureContext& context) {
  Figure figure;
  figure.id = context.id + "-table";
  figure.title = "Criteria and what came out";
  figure.caption = "Each published figure and what counts as agreement.";
  figure.tables.push_back(claim_table(result, "agreement.", "criterion"));
  figure.tables.back().title = "agreement";
  return {std::move(figure)};
}

}  // namespace rankfall
