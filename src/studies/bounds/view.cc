#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/views.h"
#include "view/number_text.h"
#include "view/rows.h"

namespace rankfall {
namespace {

constexpr std::string_view kTightness = "log10_tightness.";
constexpr std::string_view kDepthSuffix = "_depth";

// The statement of a bound; empty for a name that is not supported.
std::string_view bound_words(const std::string& bound) {
  static const std::map<std::string_view, std::string_view> words = {
      {"T2.2", "Theorem 2.2: the residual behind one head; proved where logits within a row differ by at most 3.625"},
      {"T2.2_proved", "the same for all heads of a block together, proved whatever the logits"},
      {"T2.3", "Theorem 2.3 as published: all heads of a block; false in general"},
      {"T2.3_sound", "Theorem 2.3 in an older form that is proved"},
      {"T2.2_depth", "Theorem 2.2 for all layers together, one head"},
      {"T2.3_depth", "Theorem 2.3 for all layers together"},
      {"C3.2_depth", "Corollary 3.2 for all layers together, with MLPs"},
      {"certified", "bound from the weights and the logits of each sample, composite norm"},
      {"certified_frobenius", "as certified, in the Frobenius norm"},
      {"dobrushin", "contraction by the Dobrushin coefficient δ(P) of each attention matrix"},
      {"dobrushin_tanh", "bound on δ(P) itself, from the range of the logits of one head"},
      {"dobrushin_weights",
       "bound on δ(P) from weights alone, where norms of queries and keys or a cap limit the logits"},
      {"upper", "upper bound on the residual after attention and skip"},
      {"lower", "lower bound: with skips, the residual does not fall below it"},
      {"lower_data", "lower bound from the spectral norm of each head's mixing and the residual that enters it"},
      {"lower_spectral", "the same from spectral norms of weights, for any residual that enters"},
      {"lower_exact", "the largest lower bound that holds for any residual, attention being what it is"},
      {"lower_estimate", "lower_exact estimated from above where the map is too large for a bound"},
      {"lower_depth", "product of the best lower bounds over all layers: what the network cannot lose"}};
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
  const bool any = std::ranges::any_of(closest, [](const auto& one) { return one.second.value.has_value(); });
  for (auto& [place, point] : closest) {
    if (any) curves.points.push_back(std::move(point));  // an empty chart says less than the verdicts below
  }
  curves.title = group.name() + (depth ? ", all layers together" : "");
  curves.x = depth ? "layer" : "block";
  curves.y = "bound / measured";
  curves.series_title = "bound";
  curves.scale = Scale::kLog10;
  curves.with_one = true;
  curves.about =
      "log10 (bound / measured), for lower log10 (measured / bound), in the tightest case over samples and heads; 0 is "
      "tight, 7 is seven orders of magnitude of slack";
  return curves;
}

// The residual behind each attention and its skip, between its bounds; or, of states, above what cannot be lost. Bounds
// are drawn where every sample has them: then means of logarithms compare.
Curves between_curves(const RowGroup& group, bool depth) {
  constexpr std::string_view kMeasured = "log10_measured.";
  constexpr std::string_view kBound = "log10_bound.";
  const std::string_view of = depth ? "lower_depth" : "upper";
  std::map<Index, Point> lower;
  std::map<Index, Index> n_samples;
  Curves curves;
  bool any_bound = false;
  for (const Row* row : group.rows) {
    if (!row->layer || !finite(row->mean) || row->metric != fmt::format("{}{}", kMeasured, of)) continue;
    n_samples[*row->layer] = row->n.value_or(0);
    Point point = point_of(*row, static_cast<double>(*row->layer), "measured");
    point.status = Status::kNone;
    point.note.clear();
    curves.points.push_back(std::move(point));
  }
  for (const Row* row : group.rows) {
    if (!row->layer || row->head || !finite(row->mean) || row->kind != "proved" || !row->metric.starts_with(kBound)) {
      continue;
    }
    const std::string bound = row->metric.substr(kBound.size());
    const auto n = n_samples.find(*row->layer);
    if (n == n_samples.end() || row->n != n->second) continue;
    Point point = point_of(*row, static_cast<double>(*row->layer), bound == "upper" ? "upper bound" : "lower bound");
    if (bound == "upper" && !depth) {
      any_bound = true;
      curves.points.push_back(std::move(point));
    } else if (bound.starts_with("lower") && bound.ends_with(kDepthSuffix) == depth) {
      point.note = bound;
      const auto [place, is_new] = lower.try_emplace(*row->layer, point);
      if (!is_new && *point.value > *place->second.value) place->second = point;
    }
  }
  if (lower.empty() && !any_bound) return {};
  for (auto& [layer, point] : lower) curves.points.push_back(std::move(point));
  for (Point& point : curves.points) point.low = point.high = std::nullopt;
  curves.title = group.name() + (depth ? ", all layers together" : "");
  curves.x = depth ? "layer" : "block";
  curves.y = "residual";
  curves.series_title = "residual";
  curves.scale = Scale::kLog10;
  curves.about = depth ? "log10 of the Frobenius norm of the residual of a hidden state, and what all layers up to it "
                         "cannot take away (lower_depth)"
                       : "log10 of the Frobenius norm of the residual after attention and its skip, before a norm; the "
                         "lower bound is the largest proved one";
  return curves;
}

// A claim that fails is a finding; a theorem that fails is a mistake.
Tone bound_tone(const Row& row) {
  return row.status == Status::kViolated && row.kind != "proved" ? Tone::kWarning : tone_of(row.status);
}

// Theorem 2.3 is false for very wide heads, and Corollary 3.2 and the forms over depth rest on it.
bool is_false_in_general(std::string_view claim) {
  return claim == "T2.3" || claim == "T2.3_depth" || claim == "C3.2_depth";
}
std::string kind_words(const Row& row) {
  return row.kind == "claimed" && is_false_in_general(row.claim) ? "claimed, false" : row.kind;
}

// `explained`: the names whose line said what they are; a name is explained in the line where it is first used.
Table theorem_table(const RowGroup& group, Names& explained) {
  using Kind = TableColumn::Kind;
  Table table;
  table.title = group.name() + ": verdict per theorem";
  if (explained.empty()) {
    table.about =
        "claimed: as the paper states it; claimed, false: false in general, a counterexample exists, and the verdict "
        "says whether this network is one; proved: under the condition that the verdict names, if any; weights: "
        "computed before any input; data: from each sample; a case: one block (and head) of one sample";
  }
  table.columns = {{"theorem"}, {"kind"}, {"made of"}, {"cases", Kind::kCount}, {"verdict", Kind::kProse}};
  for (const Row* row : with_metric(group.rows, "theorem")) {
    const std::string basis = row->basis == Basis::kWeights ? "weights" : "data";
    std::string verdict = fmt::to_string(row->verdict);
    const std::size_t n_before = explained.size();
    explained.add(row->claim);
    const std::string_view words = bound_words(row->claim);
    if (explained.size() > n_before && !words.empty()) verdict += fmt::format(". ({} = {})", row->claim, words);
    table.rows.push_back({row->claim, kind_words(*row), basis, row->n ? Cell(Number(row->n)) : Cell(),
                          Badge{bound_tone(*row), std::move(verdict)}});
  }
  return table;
}

// The skip that each block needs, measured, proved and claimed, and which heads sharpen.
Table skip_table(const RowGroup& group) {
  using Kind = TableColumn::Kind;
  struct Line {
    std::optional<double> measured, proved, claimed;
    Index n_sharpen = 0, n_heads = 0;
  };
  std::map<Index, Line> lines;
  for (const Row* row : group.rows) {
    if (!row->layer) continue;
    if (row->metric == "lambda.measured") lines[*row->layer].measured = finite(row->mean);
    if (row->metric == "lambda.proved") lines[*row->layer].proved = finite(row->mean);
    if (row->metric == "lambda.claimed") lines[*row->layer].claimed = finite(row->mean);
    if (row->metric != "sharpening.share" || !row->mean) continue;
    lines[*row->layer].n_sharpen += *row->mean > 0.5 ? 1 : 0;
    ++lines[*row->layer].n_heads;
  }
  Table table;
  if (lines.empty()) return table;
  table.title = group.name() + ": the skip that attention needs";
  table.about =
      "lambda: factor of the skip. measured: the residual neither falls nor grows (attention frozen); proved: from "
      "here "
      "on no residual falls; claimed: S C_M of lambda-skip connections as recorded, for a quarter of the squared "
      "residual. sharpens: heads in which the fastest direction beside the mean outgrows the mean (Dovonon et al.), in "
      "most samples";
  table.columns = {{"block", Kind::kCount},
                   {"measured", Kind::kNumber, "lambda"},
                   {"proved", Kind::kNumber, "lambda"},
                   {"claimed", Kind::kNumber, "lambda"},
                   {"sharpens"}};
  for (const auto& [block, line] : lines) {
    table.rows.push_back({Number(std::optional(block)), Number(line.measured), Number(line.proved),
                          Number(line.claimed),
                          line.n_heads == 0 ? Cell() : Cell(fmt::format("{} of {}", line.n_sharpen, line.n_heads))});
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
  table.title = "What the bounds are";
  table.only_page = true;  // a terminal explains each name where it is first used
  table.columns = {{"bound"}, {"what it says", TableColumn::Kind::kProse}};
  for (const std::string& name : names.list()) {
    if (const std::string_view words = bound_words(name); !words.empty()) {
      table.rows.push_back({name, std::string(words)});
    }
  }
  return table;
}

// How many cases of a theorem came out in each way, from the rows theorem.cases.
struct CaseCounts {
  std::map<Status, double> by_status;
  std::map<Reason, double> by_reason;
  double n = 0;

  CaseCounts(const Rows& rows, std::string_view claim) {
    for (const Row* row : rows) {
      if (row->metric != "theorem.cases" || row->claim != claim) continue;
      by_status[row->status] += row->mean.value_or(0);
      if (row->reason != Reason::kNone) by_reason[row->reason] += row->mean.value_or(0);
      n += row->mean.value_or(0);
    }
  }
  double of(Status status) const {
    const auto found = by_status.find(status);
    return found == by_status.end() ? 0 : found->second;
  }
  std::string reasons() const {
    std::vector<std::string> words;
    for (const auto& [reason, count] : by_reason) words.emplace_back(reason_words(reason));
    return joined(words);
  }
};

// "Theorem 2.3 (...) does not apply to bert-tiny@init full: there is a skip connection."
std::string theorem_sentence(const RowGroup& group, bool first) {
  const CaseCounts cases(group.rows, "T2.3");
  if (cases.n == 0) return "";
  const std::string name = first ? "Theorem 2.3 (attention alone shrinks the residual to its cube)" : "Theorem 2.3";
  const std::string network = shortened(group.name());
  const std::string vacuous = "its bound exceeds the residual that enters the block";
  const auto in = [&](Status status) { return fmt::format("in {} of {} cases", cases.of(status), cases.n); };
  if (cases.of(Status::kViolated) > 0)
    return fmt::format("{} is violated {} of {}.", name, in(Status::kViolated), network);
  if (cases.of(Status::kNotApplicable) == cases.n) {
    return fmt::format("{} does not apply to {}: {}.", name, network, cases.reasons());
  }
  if (cases.of(Status::kVacuous) == cases.n) {
    return fmt::format("{} applies to {} but says nothing: in all {} cases {}.", name, network, cases.n, vacuous);
  }
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (cases.of(Status::kHolds) > 0) add("holds " + in(Status::kHolds));
  if (cases.of(Status::kVacuous) > 0) add(fmt::format("is vacuous {} ({})", in(Status::kVacuous), vacuous));
  if (cases.of(Status::kNotApplicable) > 0) {
    add(fmt::format("does not apply {} ({})", in(Status::kNotApplicable), cases.reasons()));
  }
  return text.empty() ? "" : fmt::format("{} on {}: {}.", name, network, text);
}

// "bert-tiny@init san+skip provably keeps at least 0.6 of its residual up to layer 2": how far the product of lower
// bounds reaches.
std::string floor_sentence(const RowGroup& group) {
  const Row* last = nullptr;
  for (const Row* row : with_metric(group.rows, "log10_floor")) {
    if (row->layer && finite(row->mean) && (!last || *row->layer > *last->layer)) last = row;
  }
  if (!last) return "";
  return fmt::format(
      "{} provably keeps at least {} of its residual up to layer {} on these samples (lower_depth: it cannot lose "
      "more).",
      shortened(group.name()), power_of_ten(*last->mean), *last->layer);
}

// The proved bound on the residual that comes closest.
std::string tightest_words(const std::vector<RowGroup>& groups) {
  const Row* best = nullptr;
  for (const RowGroup& group : groups) {
    for (const Row* row : with_metric(group.rows, "theorem")) {
      const bool bounds_residual =
          !row->claim.starts_with("lower") && row->claim != "upper" && !row->claim.starts_with("dobrushin_");
      if (!bounds_residual || row->kind != "proved" || row->status != Status::kHolds || !finite(row->mean)) continue;
      if (!best || *row->mean > *best->mean) best = row;
    }
  }
  if (!best) return "";
  return fmt::format(" The tightest is {} ({}): at best {} times the measured value.", best->claim,
                     bound_words(best->claim), power_of_ten(-*best->mean));
}

void answer_theory(const std::vector<RowGroup>& groups, std::vector<Answer>& answers) {
  constexpr std::size_t kMostGroups = 2;
  Index n_violated = 0;
  for (const RowGroup& group : groups) {
    for (const Row* row : group.rows) {
      const bool broken = row->kind == "proved" && row->status == Status::kViolated;
      if (broken && row->metric.starts_with(kTightness)) ++n_violated;
    }
    if (answers.size() == kMostGroups) continue;
    std::string sentence = theorem_sentence(group, answers.empty());
    const std::string floor = floor_sentence(group);
    if (!floor.empty()) sentence += (sentence.empty() ? "" : " ") + floor;
    if (!sentence.empty()) answers.push_back({Question::kTheory, sentence});
  }
  answers.push_back({Question::kTheory,
                     n_violated == 0 ? "No proved bound is violated." + tightest_words(groups)
                                     : fmt::format("{} proved bounds are violated.", n_violated),
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
      "Points where a condition fails or the bound is vacuous are drawn as well; their tooltips and the table say so.");
  const std::vector<RowGroup> groups = by_variant(result);
  Names bounds;
  Names explained;
  for (const RowGroup& group : groups) {
    if (Table table = theorem_table(group, explained); !table.rows.empty()) figure.nodes.emplace_back(std::move(table));
    for (const bool depth : {false, true}) {
      Curves curves = bound_curves(group, depth);
      if (curves.points.empty()) continue;
      for (const Point& point : curves.points) bounds.add(point.series);
      figure.nodes.emplace_back(std::move(curves));
    }
  }
  figure.series = numbered_series(bounds.list());
  for (Series& series : figure.series) series.explanation = bound_words(series.name);
  View view;
  if (!figure.nodes.empty()) {
    answer_theory(groups, view.answers);
    if (Table names = bound_names(result); !names.rows.empty()) figure.nodes.emplace_back(std::move(names));
  }
  Figure between;
  between.id = "bounds-between";
  between.title = "The measured residual between its bounds";
  between.caption =
      "A lower bound shows what attention and its skip must keep, an upper one what they may keep at most. The closer "
      "the three curves, the more the bounds explain.";
  for (const RowGroup& group : groups) {
    for (const bool depth : {false, true}) {
      Curves curves = between_curves(group, depth);
      if (!curves.points.empty()) between.nodes.emplace_back(std::move(curves));
    }
    if (Table table = skip_table(group); !table.rows.empty()) between.nodes.emplace_back(std::move(table));
  }
  if (!between.nodes.empty()) {
    between.series = numbered_series({"upper bound", "measured", "lower bound"});
    view.figures.push_back(std::move(between));
  }
  view.figures.push_back(std::move(figure));
  return view;
}

}  // namespace rankfall
