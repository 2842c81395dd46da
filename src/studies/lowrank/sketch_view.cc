#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/lowrank/parts.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

constexpr const char* kClaimed = "k claimed";
constexpr const char* kAllRows = "k = n";

std::string claim_formula(const std::string& claim) {
  if (claim == "relative") return "‖P Rᵀ R w − P w‖ ≤ eps ‖P w‖";
  if (claim == "norms") return "‖P Rᵀ R w − P w‖ ≤ eps ‖P‖_F ‖w‖";
  return "P Rᵀ R w for P w";
}

std::string vector_words(const std::string& kind) {
  if (kind == "values") return "w = X W_V a, a normal";
  if (kind == "gaussian") return "w normal";
  return kind == "mean_free" ? "w normal, less its mean" : shortened(kind);
}

std::string tokens_name(Index tokens) { return fmt::format("n = {}", tokens); }

// "k >= n", or how far beyond what was tried it is.
std::string beyond(const Row& row) {
  if (row.status == Status::kNoSaving) return "k >= n";
  if (row.status != Status::kNotFound) return "";
  return row.k && row.tokens.value_or(0) > 0 ? fmt::format("above {} n", *row.k / *row.tokens) : "k >= n";
}

Number count_of(const Row& row) {
  Number number(finite(row.mean));
  number.note = beyond(row);
  return number;
}

struct FailureRate {
  const Row* row = nullptr;
  std::optional<double> low, high;
};

// The rows of one group about one claim.
struct Sketch {
  struct OfTokens {
    const Row* needed = nullptr;
    std::map<Index, FailureRate> failures;  // by k
  };
  Names kinds;  // of w
  std::map<std::string, std::map<Index, OfTokens>> by_kind;
  Rows growth;
  std::set<Index> tokens;

  void add(const Row& row) {
    if (row.metric == "jl.growth") growth.push_back(&row);
    if (!row.tokens || row.metric == "jl.growth") return;
    if (!by_kind.contains(row.kind)) {
      if (kinds.size() == kMostKinds) return;
      kinds.add(row.kind);
    }
    tokens.insert(*row.tokens);
    OfTokens& of = by_kind[row.kind][*row.tokens];
    if (row.metric == "jl.k_needed") of.needed = &row;
    if (!row.k) return;
    if (row.metric == "jl.failure") of.failures[*row.k].row = &row;
    if (row.metric == "jl.failure.low") of.failures[*row.k].low = finite(row.mean);
    if (row.metric == "jl.failure.high") of.failures[*row.k].high = finite(row.mean);
  }
};

struct Sketches {
  const RowGroup* group = nullptr;
  Names claims;
  std::map<std::string, Sketch> by_claim;
  std::map<Index, const Row*> claimed;  // one k for all claims and kinds of w

  explicit Sketches(const RowGroup& of) : group(&of) {
    for (const Row* row : of.rows) {
      if (!row->metric.starts_with("jl.") || row->metric == "jl.statement") continue;
      if (row->metric == "jl.k_claimed") {
        if (row->tokens) claimed[*row->tokens] = row;
        continue;
      }
      claims.add(row->claim);
      by_claim[row->claim].add(*row);
    }
  }

  // The k claimed for n tokens, if it can be one.
  std::optional<double> claimed_at(Index n) const {
    const auto found = claimed.find(n);
    const auto k = found == claimed.end() ? std::nullopt : finite(found->second->mean);
    return k && std::abs(*k) <= 1e15 ? k : std::nullopt;
  }
};

// Failure rates at the claimed k.
Number failure_at(const Sketch::OfTokens& of, std::optional<double> claimed) {
  if (!claimed) return {};
  for (const double k : {std::ceil(*claimed), std::floor(*claimed)}) {
    const auto found = of.failures.find(static_cast<Index>(k));
    if (found == of.failures.end() || !found->second.row) continue;
    Number number(finite(found->second.row->mean));
    number.low = found->second.low;
    number.high = found->second.high;
    return number;
  }
  return {};
}

Table sketch_table(const Sketches& all, const std::string& claim, const Sketch& of) {
  using Kind = TableColumn::Kind;
  Table table;
  table.title = titled(*all.group, fmt::format("Johnson-Lindenstrauss, claim “{}”", shortened(claim)));
  table.about = fmt::format(
      "{}; by kind of w: share of draws of R that fail at the k claimed, 5 ln n / (eps² − eps³), with its interval of "
      "95 %, and the smallest k that suffices; at k >= n nothing is saved",
      claim_formula(claim));
  table.columns = {{"tokens", Kind::kCount}, {kClaimed, Kind::kCount}};
  table.n_labels = 2;
  for (const std::string& kind : of.kinds.list()) {
    table.columns.push_back({"fails", Kind::kNumber, vector_words(kind), 2});
    table.columns.push_back({"k needed", Kind::kCount, vector_words(kind)});
  }
  for (const Index n : of.tokens) {
    const auto claimed = all.claimed.find(n);
    std::vector<Cell> cells = {Number(static_cast<double>(n)),
                               claimed == all.claimed.end() ? Number() : count_of(*claimed->second)};
    for (const std::string& kind : of.kinds.list()) {
      const auto& by_tokens = of.by_kind.at(kind);
      const auto found = by_tokens.find(n);
      const bool known = found != by_tokens.end();
      cells.emplace_back(known ? failure_at(found->second, all.claimed_at(n)) : Number());
      cells.emplace_back(known && found->second.needed ? count_of(*found->second.needed) : Number());
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// The k that one claim needs, and the k claimed, against n.
Curves needs_curves(const Sketches& all, const std::string& claim, const Sketch& of) {
  Curves curves;
  std::set<Index> tokens;
  const auto add = [&](Index n, const std::string& series, std::optional<double> k, std::string note) {
    if (n < 1 || !(finite(k).value_or(0) > 0)) return;
    tokens.insert(n);
    Point& point = curves.points.emplace_back();
    point.x = static_cast<double>(n);
    point.series = series;
    point.value = k;
    point.note = std::move(note);
  };
  for (const auto& [kind, by_tokens] : of.by_kind) {
    for (const auto& [n, one] : by_tokens) {
      if (one.needed) add(n, kind, one.needed->mean, beyond(*one.needed));
    }
  }
  for (const auto& [n, row] : all.claimed) add(n, kClaimed, row->mean, beyond(*row));
  for (const Index n : std::set(tokens)) add(n, kAllRows, static_cast<double>(n), "");
  curves.title = titled(*all.group, fmt::format("claim “{}”: {}", shortened(claim), claim_formula(claim)));
  curves.x = "tokens n";
  curves.y = curves.series_title = "k";
  curves.scale = Scale::kLog;
  curves.log_x = curves.only_drawn = true;
  return curves;
}

// Rates of failure of one kind of w for one claim over k, with their intervals.
Curves failure_curves(const Sketches& all, const std::string& kind, const Sketch& of) {
  Curves curves;
  for (const auto& [n, one] : of.by_kind.at(kind)) {
    for (const auto& [k, rate] : one.failures) {
      if (k < 1 || !rate.row || !finite(rate.row->mean)) continue;
      Point point = point_of(*rate.row, static_cast<double>(k), tokens_name(n));
      point.low = rate.low;
      point.high = rate.high;
      const auto claimed = all.claimed_at(n);
      if (claimed && std::abs(*claimed - point.x) < 1) {
        point.note = point.note.empty() ? "the k claimed" : "the k claimed; " + point.note;
      }
      curves.points.push_back(std::move(point));
    }
  }
  curves.title = titled(*all.group, vector_words(kind));
  curves.x = "k";
  curves.y = "share of draws that fail";
  curves.series_title = "tokens";
  curves.scale = Scale::kLinear;
  curves.band = Band::kInterval;
  curves.domain = {0, 1.02};
  curves.log_x = curves.only_drawn = true;
  return curves;
}

// The sentences about the claims, once each.
Sentences statements(const RowGroup& group) {
  Sentences out;
  std::set<std::tuple<std::string_view, std::optional<Index>, std::optional<Index>>> said;
  for (const Row* row : with_metric(group.rows, "jl.statement")) {
    if (row->verdict.empty() || !said.insert({row->claim, row->layer, row->tokens}).second) continue;
    out.list.push_back({row->claim.empty() ? group.name() : row->claim, Tone::kNeutral, fmt::to_string(row->verdict)});
  }
  return out;
}

Figure failure_figure(const std::vector<Sketches>& groups, const std::string& claim, std::size_t number) {
  Figure figure;
  figure.id = fmt::format("failures-{}", number);
  figure.title = fmt::format("How often Johnson-Lindenstrauss fails: claim “{}”", claim);
  figure.caption = fmt::format(
      "Share of draws of R (k × n, entries N(0, 1/k)) for which {} does not hold, against k, one curve for each number "
      "of tokens n; bands: 95 % (Clopper and Pearson).",
      claim_formula(claim));
  figure.notes.emplace_back("Tooltip and table say which k is the one claimed, 5 ln n / (eps² − eps³).");
  std::set<Index> tokens;
  for (const Sketches& all : groups) {
    const auto found = all.by_claim.find(claim);
    if (found == all.by_claim.end()) continue;
    for (const std::string& kind : found->second.kinds.list()) {
      Curves curves = failure_curves(all, kind, found->second);
      if (curves.points.empty()) continue;
      tokens.insert(found->second.tokens.begin(), found->second.tokens.end());
      figure.nodes.emplace_back(std::move(curves));
    }
  }
  std::vector<std::string> names;
  names.reserve(tokens.size());
  for (const Index n : tokens) names.push_back(tokens_name(n));
  figure.series = ordered_series(names);
  return figure;
}

}  // namespace

std::vector<Figure> sketch_figures(const std::vector<RowGroup>& groups) {
  Figure needs;
  needs.id = "needs";
  needs.title = "How many rows a Johnson-Lindenstrauss projection needs";
  needs.caption =
      "The smallest k with which no more than the share allowed of the draws fails, by kind of w, beside the k "
      "claimed, "
      "against the number of tokens n. At k = n nothing is saved: P Rᵀ R w is no cheaper than P w.";
  std::vector<Sketches> all;
  all.reserve(groups.size());
  for (const RowGroup& group : groups) all.emplace_back(group);
  Names claims, kinds;
  for (const Sketches& of_group : all) {
    for (const std::string& claim : of_group.claims.list()) {
      const Sketch& of = of_group.by_claim.at(claim);
      claims.add(claim);
      for (const std::string& kind : of.kinds.list()) kinds.add(kind);
      if (!of.tokens.empty()) needs.nodes.emplace_back(sketch_table(of_group, claim, of));
      Table growth = exponent_table(
          of.growth,
          titled(*of_group.group, fmt::format("claim “{}”, how the k needed grows with n", shortened(claim))), "w",
          vector_words);
      if (!growth.rows.empty()) needs.nodes.emplace_back(std::move(growth));
      Curves curves = needs_curves(of_group, claim, of);
      if (!curves.points.empty()) needs.nodes.emplace_back(std::move(curves));
    }
    Sentences said = statements(*of_group.group);
    if (!said.list.empty()) needs.nodes.emplace_back(std::move(said));
  }
  needs.series = numbered_series(kinds.list());
  for (Series& series : needs.series) series.title = vector_words(series.name);
  needs.series.push_back({kClaimed, kClaimed, 4});
  needs.series.push_back(reference_series(kAllRows, kAllRows));
  std::vector<Figure> figures;
  figures.push_back(std::move(needs));
  for (const std::string& claim : claims.list()) figures.push_back(failure_figure(all, claim, figures.size()));
  return figures;
}

std::vector<Answer> sketch_answers(const std::vector<RowGroup>& groups) {
  constexpr std::size_t kMost = 3;
  std::vector<Answer> answers;
  for (const RowGroup& group : groups) {
    // Attention multiplies X W_V, so its directions count: the k that the largest number of tokens needs.
    std::map<std::string, const Row*> needed;
    for (const Row* row : with_metric(group.rows, "jl.k_needed")) {
      if (row->kind != "values" || !row->tokens) continue;
      const Row*& most = needed[row->claim];
      if (!most || *most->tokens < *row->tokens) most = row;
    }
    std::vector<std::string> needs;
    for (const auto& [claim, row] : needed) {
      if (needs.size() == kMost) break;
      const bool saves = row->mean && row->status != Status::kNoSaving;
      const std::string error = claim == "relative" ? "an error of eps ‖P w‖"
                                : claim == "norms"  ? "an error of eps ‖P‖_F ‖w‖"
                                                    : shortened(claim);
      const std::string k = row->mean ? fmt::format("k = {} of", trimmed(*row->mean)) : "a k far above";
      needs.push_back(fmt::format("{} needs {} n = {}{}", error, k, *row->tokens, saves ? "" : " (nothing is saved)"));
    }
    if (needs.empty() || answers.size() == kMost) continue;
    answers.push_back(
        {Question::kSketches, fmt::format("{}, for directions of X W_V: {}.", shortened(group.name()), joined(needs))});
  }
  return answers;
}

}  // namespace rankfall
