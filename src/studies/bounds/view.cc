#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/views.h"
#include "view/rows.h"

namespace rankfall {
namespace {

constexpr std::string_view kTightness = "log10_tightness.";
constexpr std::string_view kDepthSuffix = "_depth";

// What a bound says; empty for one that is not known.
std::string_view bound_words(const std::string& bound) {
  static const std::map<std::string_view, std::string_view> words = {
      {"T2.2", "Theorem 2.2, one head"},
      {"T2.3", "Theorem 2.3 as published, all heads of a block"},
      {"T2.3_sound", "Theorem 2.3 as it can be proved"},
      {"T2.2_depth", "Theorem 2.2 for all layers together, one head"},
      {"T2.3_depth", "Theorem 2.3 for all layers together"},
      {"C3.2_depth", "Corollary 3.2 for all layers together, with MLPs"},
      {"certified", "from the weights and the logits of each sample"},
      {"certified_frobenius", "the same in the Frobenius norm"},
      {"dobrushin", "contraction by the Dobrushin coefficient of each attention matrix"},
      {"dobrushin_tanh", "the Dobrushin coefficient itself, from the range of the logits; one head"},
      {"lower", "with skips: what the residual does not fall below"}};
  const auto found = words.find(bound);
  return found == words.end() ? "" : found->second;
}

// The distance of each bound from what it bounds; of heads, the closest. Forms for all layers together count states,
// the others blocks.
Curves bound_curves(const RowGroup& group, bool depth) {
  std::map<std::pair<std::string, Index>, Point> closest;
  for (const Row* row : group.rows) {
    if (!row->metric.starts_with(kTightness) || row->metric.ends_with(kDepthSuffix) != depth || !row->layer) continue;
    const std::string bound = row->metric.substr(kTightness.size());
    Point point = point_of(*row, static_cast<double>(*row->layer), bound);
    point.low = point.high = std::nullopt;
    if (point.value) point.value = 0 - *point.value;
    const auto [place, is_new] = closest.try_emplace({bound, *row->layer}, point);
    if (is_new) continue;
    Point& best = place->second;
    const Status before = best.status;
    if (point.value && (!best.value || *point.value < *best.value)) best = point;
    if (before == Status::kViolated || point.status == Status::kViolated) best.status = Status::kViolated;
  }
  Curves curves;
  for (auto& [place, point] : closest) curves.points.push_back(std::move(point));
  curves.title = group.name() + (depth ? ", all layers together" : "");
  curves.x = depth ? "layer" : "block";
  curves.y = "bound / measured";
  curves.series_title = "bound";
  curves.scale = Scale::kLog10;
  curves.with_one = true;
  curves.about =
      "log10 of bound / measured (lower: measured / bound), the tightest case of all samples and heads: 0 is tight, 7 "
      "is "
      "seven orders of magnitude of slack";
  return curves;
}

// A claim that fails is a finding; a theorem that fails is a mistake.
Tone bound_tone(const Row& row) {
  return row.status == Status::kViolated && row.kind != "proved" ? Tone::kWarning : tone_of(row.status);
}

Table theorem_table(const RowGroup& group) {
  using Kind = TableColumn::Kind;
  Table table;
  table.title = group.name() + ": verdict per theorem";
  table.columns = {{"theorem"}, {"kind"}, {"made of"}, {"cases", Kind::kCount}, {"verdict", Kind::kProse}};
  for (const Row* row : with_metric(group.rows, "theorem")) {
    const std::string basis = row->basis == Basis::kWeights ? "weights" : "data";
    table.rows.push_back({row->claim, row->kind, basis, row->n ? Cell(Number(row->n)) : Cell(),
                          Badge{bound_tone(*row), fmt::to_string(row->verdict)}});
  }
  return table;
}

// One line for each name that the figure uses.
Table bound_names(const Result& result) {
  Names names;
  for (const Row& row : result.rows) {
    if (row.metric == "theorem") names.add(row.claim);
  }
  for (const Row& row : result.rows) {
    if (row.metric.starts_with(kTightness)) names.add(row.metric.substr(kTightness.size()));
  }
  Table table;
  table.title = "what the bounds are";
  table.about =
      "claimed: as the paper states it; proved: as it can be proved; weights: known before any input; data: needs the "
      "sample";
  table.columns = {{"bound"}, {"what it says", TableColumn::Kind::kProse}};
  for (const std::string& name : names.list()) {
    if (const std::string_view words = bound_words(name); !words.empty()) {
      table.rows.push_back({name, std::string(words)});
    }
  }
  return table;
}

// "applies and holds in 3 of 24; does not apply in 21 of 24", from the rows theorem.cases.
std::string case_words(const Rows& rows, const Row& theorem) {
  static constexpr std::pair<Status, std::string_view> kWords[] = {
      {Status::kViolated, "violated"},
      {Status::kHolds, "applies and holds"},
      {Status::kVacuous, "vacuous"},
      {Status::kExactlyZero, "nothing to bound"},
      {Status::kNotApplicable, "does not apply"},
  };
  std::map<Status, double> counts;
  for (const Row* row : rows) {
    if (row->metric == "theorem.cases" && row->claim == theorem.claim) counts[row->status] += row->mean.value_or(0);
  }
  std::vector<std::string> parts;
  for (const auto& [status, words] : kWords) {
    if (counts[status] > 0) {
      parts.push_back(fmt::format("{} in {} of {}", words, counts[status], theorem.n.value_or(0)));
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void answer_theory(const std::vector<RowGroup>& groups, std::vector<Answer>& answers) {
  constexpr std::size_t kMostGroups = 3;
  Index n_violated = 0;
  for (const RowGroup& group : groups) {
    for (const Row* row : group.rows) {
      const bool broken = row->kind == "proved" && row->status == Status::kViolated;
      if (broken && row->metric.starts_with(kTightness)) ++n_violated;
      const bool published = row->metric == "theorem" && row->claim == "T2.3";
      if (!published || (row->variant != "san" && row->variant != "full") || answers.size() == kMostGroups) continue;
      const std::string cases = case_words(group.rows, *row);
      if (cases.empty()) continue;
      answers.push_back({Question::kTheory, fmt::format("Theorem 2.3 on {} {}, by block and sample: {}.",
                                                        shortened(row->model), row->variant, cases)});
    }
  }
  answers.push_back(
      {Question::kTheory,
       n_violated == 0 ? "No proved bound is violated." : fmt::format("{} proved bounds are violated.", n_violated),
       n_violated == 0 ? Tone::kNeutral : Tone::kBad});
}

}  // namespace

View bounds_view(const Result& result, const ViewOptions& /*options*/) {
  Figure figure;
  figure.id = "bounds";
  figure.title = "How far each bound is off";
  figure.caption =
      "Each bound divided by what it bounds, block by block. 1 is tight; a value below 1 violates the bound if its "
      "conditions hold.";
  figure.notes.emplace_back(
      "Points where a condition fails or the bound says nothing are drawn, too: tooltip and table say so.");
  const std::vector<RowGroup> groups = by_variant(result);
  Names bounds;
  for (const RowGroup& group : groups) {
    for (const bool depth : {false, true}) {
      Curves curves = bound_curves(group, depth);
      if (curves.points.empty()) continue;
      for (const Point& point : curves.points) bounds.add(point.series);
      figure.nodes.emplace_back(std::move(curves));
    }
    if (Table table = theorem_table(group); !table.rows.empty()) figure.nodes.emplace_back(std::move(table));
  }
  figure.series = numbered_series(bounds.list());
  for (Series& series : figure.series) {
    if (const std::string_view words = bound_words(series.name); !words.empty()) {
      series.title = fmt::format("{}: {}", series.name, words);
    }
  }
  View view;
  if (!figure.nodes.empty()) {
    answer_theory(groups, view.answers);
    if (Table names = bound_names(result); !names.rows.empty()) figure.nodes.emplace_back(std::move(names));
  }
  view.figures.push_back(std::move(figure));
  return view;
}

}  // namespace rankfall
