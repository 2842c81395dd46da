#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/audit/figures_view.h"
#include "studies/views.h"
#include "view/rows.h"

namespace rankfall {
namespace {

// A claim that fails as it is known to fail is no alarm.
Badge claim_verdict(const Row& row) {
  if (row.kind == "unexpected")
    return {Tone::kBad, fmt::format("{}, which differs from the recorded verdict", row.verdict)};
  const Tone tone = row.status == Status::kViolated ? Tone::kWarning : tone_of(row.status);
  return {tone, fmt::to_string(row.verdict)};
}

// One line for each claim, from rows PREFIX.statement, PREFIX.verdict and so on.
Table claim_table(const Result& result, std::string_view prefix, const std::string& statement) {
  struct Claim {
    std::string statement, evidence;
    Badge verdict;
    const Row* row = nullptr;
  };
  std::map<std::string, Claim> claims;
  Names order;
  for (const Row& row : result.rows) {
    if (!row.metric.starts_with(prefix)) continue;
    const std::string what = row.metric.substr(prefix.size()), text = fmt::to_string(row.verdict);
    const bool is_evidence = what == "evidence" || what == "stopped" || what == "witness";
    if (!is_evidence && what != "verdict" && what != statement) continue;
    order.add(row.claim);
    Claim& claim = claims[row.claim];
    if (what == statement) claim.statement = text;
    if (is_evidence && !text.empty()) claim.evidence += (claim.evidence.empty() ? "" : "; ") + text;
    if (what == "verdict") {
      claim.verdict = claim_verdict(row);
      claim.row = &row;
    }
  }
  using Kind = TableColumn::Kind;
  Table table;
  table.columns = {{"claim"},
                   {statement, Kind::kProse},
                   {"verdict"},
                   {"evidence", Kind::kProse},
                   {"value", Kind::kNumber},
                   {"cases", Kind::kCount}};
  for (const std::string& name : order.list()) {
    const Claim& claim = claims.at(name);
    const auto number = [](auto value) { return value ? Cell(Number(value)) : Cell(); };
    table.rows.push_back({name, claim.statement, claim.verdict, claim.evidence,
                          claim.row ? number(finite(claim.row->mean)) : Cell(),
                          claim.row ? number(claim.row->n) : Cell()});
  }
  return table;
}

}  // namespace

View audit_view(const Result& result, const ViewOptions& /*options*/) {
  Figure figure;
  figure.id = "claims";
  figure.title = "Every claim, and what a search for counterexamples found";
  figure.caption =
      "Inequalities are searched for counterexamples and the best ones evaluated with a hundred digits; statements "
      "about "
      "networks are measured.";
  Table table = claim_table(result, "audit.", "statement");
  View view;
  if (table.rows.empty()) return view;
  figure.nodes.emplace_back(std::move(table));
  view.figures.push_back(std::move(figure));
  for (auto other : {sources_figure(result), width_figure(result), scaling_figure(result), effects_figure(result)}) {
    if (other) view.figures.push_back(std::move(*other));
  }
  Index n = 0, holds = 0, fails = 0, unexpected = 0;
  for (const Row& row : result.rows) {
    if (row.metric != "audit.verdict") continue;
    ++n;
    holds += row.status == Status::kHolds || row.status == Status::kMeasured ? 1 : 0;
    fails += row.status == Status::kViolated ? 1 : 0;
    unexpected += row.kind == "unexpected" ? 1 : 0;
  }
  if (n == 0) return view;
  view.answers.push_back(
      {Question::kTheory,
       fmt::format(
           "Of {} tested, {} hold{} and {} fail{} as stated{}{}.", counted(static_cast<std::size_t>(n), "claim"), holds,
           holds == 1 ? "s" : "", fails, fails == 1 ? "s" : "",
           n == holds + fails ? "" : fmt::format("; for {} no counterexample was found", n - holds - fails),
           unexpected == 0
               ? ""
               : fmt::format("; {} differ{} from the recorded verdict", unexpected, unexpected == 1 ? "s" : "")),
       unexpected == 0 ? Tone::kNeutral : Tone::kBad});
  return view;
}

View agreement_view(const Result& result, const ViewOptions& /*options*/) {
  Figure figure;
  figure.id = "table";
  figure.title = "Criteria and outcomes";
  figure.caption = "Each published figure, what counts as agreement, and the largest distance found.";
  Table table = claim_table(result, "agreement.", "criterion");
  View view;
  if (table.rows.empty()) return view;
  figure.nodes.emplace_back(std::move(table));
  view.figures.push_back(std::move(figure));
  std::map<std::string_view, const Row*> worst;
  for (const Row& row : result.rows) {
    if (row.metric == "agreement.worst") worst.try_emplace(row.claim, &row);
  }
  // A bare count would hide how loose a criterion is and how close the worst point.
  std::string sentences;
  Index n = 0, n_agree = 0;
  bool loose = false;
  for (const Row& row : result.rows) {
    if (row.metric != "agreement.verdict" || row.status == Status::kMissing) continue;
    ++n;
    const bool agrees = row.status == Status::kAgrees;
    n_agree += agrees ? 1 : 0;
    const auto found = worst.find(row.claim);
    const bool known = found != worst.end();
    loose = loose || (known && found->second->kind == "one_draw");
    sentences += fmt::format(" {}: {}{}.", shortened(row.claim), agrees ? "agrees" : "does not agree",
                             known ? fmt::format(", {}", found->second->verdict) : "");
  }
  if (n == 0) return view;
  if (loose) {
    sentences +=
        " Figure 2 was computed with one seed: one random draw of the weights is compared with another, so its limits "
        "are wide.";
  }
  view.answers.push_back({Question::kAgrees,
                          fmt::format("{} of {} comparisons meet their criterion.{}", n_agree, n, sentences),
                          n_agree < n ? Tone::kBad
                          : loose     ? Tone::kNeutral
                                      : Tone::kGood});
  return view;
}

}  // namespace rankfall
