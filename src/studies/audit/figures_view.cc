#include "studies/audit/figures_view.h"

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/parse_number.h"
#include "result/prose_format.h"
#include "view/rows.h"

namespace rankfall {
namespace {

// "gamma=1.25" -> 1.25
std::optional<double> value_behind(std::string_view text, std::string_view key) {
  if (!text.starts_with(key)) return std::nullopt;
  return finite(parse_number<double>(text.substr(key.size())));
}

}  // namespace

std::optional<Figure> sources_figure(const Result& result) {
  Figure figure;
  figure.id = "sources";
  figure.title = "Where each claim was made, and what would refute it";
  figure.caption = "The rule was written down before anything was tried.";
  figure.detail = true;
  struct Source {
    std::string source, refuted_by;
  };
  std::map<std::string, Source> sources;
  Names order;
  for (const Row& row : result.rows) {
    const bool is_source = row.metric == "audit.source";
    if (!is_source && row.metric != "audit.refuted_by") continue;
    order.add(row.claim);
    Source& source = sources[row.claim];
    (is_source ? source.source : source.refuted_by) = fmt::to_string(row.verdict);
  }
  if (order.empty()) return std::nullopt;
  Table table;
  table.columns = {
      {"claim"}, {"source", TableColumn::Kind::kProse}, {"would be refuted by", TableColumn::Kind::kProse}};
  for (const std::string& claim : order.list()) {
    table.rows.push_back({claim, sources.at(claim).source, sources.at(claim).refuted_by});
  }
  figure.nodes.emplace_back(std::move(table));
  return figure;
}

std::optional<Figure> width_figure(const Result& result) {
  Figure figure;
  figure.id = "theorem-2-3";
  figure.title = "Theorem 2.3 over the width";
  figure.caption =
      "Left side over right side for two heads of rank one whose composite norms do not add up; above 1 the theorem is "
      "false. Groups of equal channels are evaluated with a hundred digits, matrices of d x d in double precision.";
  const std::string bound = "bound", groups = "groups", matrices = "matrices";
  figure.series = {{groups, "groups of equal channels", 0, Series::Look::kNumbered},
                   {matrices, "matrices of d x d", 1, Series::Look::kNumbered},
                   reference_series(bound, "the theorem: at most 1")};
  Curves curves;
  curves.about = "left side over right side of Theorem 2.3";
  curves.x = "width d";
  curves.y = "left / right";
  curves.series_title = "evaluated as";
  curves.log_x = true;
  curves.wide = true;
  for (const Row& row : result.rows) {
    if (row.metric != "audit.ratio" || !row.k || *row.k < 1 || (row.kind != groups && row.kind != matrices)) continue;
    const auto d = static_cast<double>(*row.k);
    curves.points.push_back(point_of(row, d, row.kind));
    if (row.kind != groups) continue;
    Point& one = curves.points.emplace_back();
    one.x = d;
    one.series = bound;
    one.value = 1;
  }
  if (curves.points.empty()) return std::nullopt;
  figure.nodes.emplace_back(std::move(curves));
  return figure;
}

std::optional<Figure> scaling_figure(const Result& result) {
  Figure figure;
  figure.id = "attention-scaling";
  figure.title = "Logits that grow with the logarithm of the length";
  figure.caption =
      "Share of the residual that one layer of attention keeps, of tokens on a simplex of cosine 0.2, with logits "
      "gamma "
      "ln n times their inner products: the more tokens, the steeper the transition at gamma = 1.25.";
  Curves curves;
  curves.about = "residual after the layer over the residual before";
  curves.x = "gamma";
  curves.y = "residual kept";
  curves.series_title = "tokens";
  curves.source_title = "value";
  curves.sources = {"engine", "formula"};
  curves.share = true;
  curves.wide = true;
  Names names;
  for (const Row& row : result.rows) {
    if (row.metric != "audit.residual_kept" || !row.tokens) continue;
    const auto gamma = value_behind(row.variant, "gamma=");
    if (!gamma || (row.kind != curves.sources[0] && row.kind != curves.sources[1])) continue;
    const std::string name = fmt::format("n = {}", *row.tokens);
    names.add(name);
    curves.points.push_back(point_of(row, *gamma, name));
    curves.points.back().source = row.kind;
  }
  if (curves.points.empty()) return std::nullopt;
  figure.series = ordered_series(names.list());
  figure.nodes.emplace_back(std::move(curves));
  return figure;
}

std::optional<Figure> effects_figure(const Result& result) {
  Figure figure;
  figure.id = "effects";
  figure.title = "What was measured on networks";
  figure.caption =
      "Small random networks, one line per kind of network. A difference is that of two networks with the same seed, "
      "beside it its standard error.";
  figure.detail = true;
  using Kind = TableColumn::Kind;
  Table falls;
  falls.title = "Change of log10 of the relative residual per layer";
  falls.columns = {{"claim"}, {"network"}, {"what"}, {"change per layer", Kind::kNumber}, {"seeds", Kind::kCount}};
  falls.n_labels = 3;
  Table shares = falls;
  shares.title = "Share of the output's residual of paths through at most half of the blocks";
  shares.columns = {{"claim"}, {"network"}, {"share", Kind::kNumber}, {"seeds", Kind::kCount}};
  shares.n_labels = 2;
  std::vector<std::string> arms;  // of the comparison whose difference comes next
  for (const Row& row : result.rows) {
    Number value(finite(row.mean));
    const auto deviation = finite(row.std);
    if (row.metric == "audit.short_share") {
      value.error = deviation;
      shares.rows.push_back({row.claim, row.variant, value, Number(row.n)});
    }
    if (row.metric != "audit.fall") continue;
    if (deviation && row.n.value_or(0) > 0) value.error = *deviation / std::sqrt(static_cast<double>(*row.n));
    const bool difference = row.kind == "difference";
    if (!difference && !row.kind.starts_with("blocks")) {
      arms.push_back(row.kind);
      continue;
    }
    std::string what = row.kind;
    if (difference && arms.size() >= 2) what = fmt::format("{} less {}", arms.back(), arms[arms.size() - 2]);
    arms.clear();
    falls.rows.push_back({row.claim, row.variant, what, value, Number(row.n)});
  }
  for (Table* table : {&falls, &shares}) {
    if (!table->rows.empty()) figure.nodes.emplace_back(std::move(*table));
  }
  if (figure.nodes.empty()) return std::nullopt;
  return figure;
}

}  // namespace rankfall
