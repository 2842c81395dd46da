#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/lowrank/parts.h"

namespace rankfall {
namespace {

// Distances of states by layer, of the kinds that are shown.
Curves distance_curves(const RowGroup& model, const Names& kinds, bool residual) {
  Curves curves;
  std::optional<Index> n;
  for (const Row* row : with_metric(model.rows, residual ? "state.distance.residual" : "state.distance")) {
    const bool shown = std::ranges::find(kinds.list(), row->variant) != kinds.list().end();
    if (!shown || !row->layer || !finite(row->mean)) continue;
    Point point = point_of(*row, static_cast<double>(*row->layer), row->variant);
    point.low = point.high = std::nullopt;
    if (point.value == 0.0) {
      point.status = Status::kExactlyZero;
      point.note = "exactly 0";
    }
    n = row->n ? row->n : n;
    curves.points.push_back(std::move(point));
  }
  curves.title = fmt::format("{}: {}", model.model, residual ? "less the token mean" : "other kinds of attention");
  curves.about = residual ? "" : "distance of hidden states from the network's own: ‖X' − X‖_F / ‖X‖_F";
  if (n && !residual) curves.about += " · " + mean_words("state.distance", *n, false);
  curves.y = "distance";
  curves.series_title = "attention";
  curves.scale = Scale::kLog;
  curves.only_drawn = residual;
  return curves;
}

// What each kind costs, and how far the last state is off in what tells tokens apart.
Table kinds_table(const RowGroup& model, const Names& kinds) {
  using Kind = TableColumn::Kind;
  std::optional<Index> last;
  for (const Row* row : with_metric(model.rows, "state.distance.residual")) {
    if (row->layer && finite(row->mean)) last = std::max(last.value_or(*row->layer), *row->layer);
  }
  std::map<std::string, std::pair<Number, Number>> found;
  for (const Row* row : model.rows) {
    if (row->metric == "state.products") found[row->variant].first = finite(row->mean);
    if (row->metric == "state.distance.residual" && row->layer && row->layer == last) {
      found[row->variant].second = finite(row->mean);
    }
  }
  Table table;
  table.title = fmt::format("{}: cost and distance by kind", model.model);
  table.columns = {{"attention"}, {"products per query", Kind::kNumber}};
  if (last) {
    table.columns.push_back({fmt::format("distance at layer {} less the token mean", *last), Kind::kNumber});
  }
  for (const std::string& kind : kinds.list()) {
    const auto numbers = found.find(kind);
    if (numbers == found.end()) continue;
    std::vector<Cell> cells = {kind, numbers->second.first};
    if (last) cells.emplace_back(numbers->second.second);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

Figure kinds_figure(const Result& result) {
  Figure figure;
  figure.id = "kinds";
  figure.title = "Other kinds of attention";
  figure.caption =
      "How far the hidden states of the same weights with another kind of attention are from the network's own; and "
      "the "
      "same of what is left of X without its token mean, which is what tells tokens apart. A state of zeros would be 1 "
      "away.";
  Names all;
  for (const RowGroup& model : by_model(result)) {
    Names kinds;
    std::set<std::string_view> more;
    Table refused;
    refused.title = fmt::format("{}: unsupported kinds of attention", model.model);
    refused.columns = {{"reason", TableColumn::Kind::kProse}};
    refused.n_labels = 0;
    refused.most = kMostKinds;
    for (const Row* row : model.rows) {
      if (!row->metric.starts_with("state.")) continue;
      if (row->status == Status::kRefused) {
        refused.rows.push_back({row->verdict.empty() ? row->variant : fmt::to_string(row->verdict)});
      }
      if (row->metric != "state.distance" || !row->layer) continue;
      const bool is_shown = std::ranges::find(kinds.list(), row->variant) != kinds.list().end();
      if (!is_shown && kinds.size() == kMostKinds) more.insert(row->variant);
      if (!is_shown && kinds.size() < kMostKinds) kinds.add(row->variant);
    }
    for (const std::string& kind : kinds.list()) all.add(kind);
    for (const bool residual : {false, true}) {
      Curves curves = distance_curves(model, kinds, residual);
      if (!curves.points.empty()) figure.nodes.emplace_back(std::move(curves));
    }
    Table table = kinds_table(model, kinds);
    if (!table.rows.empty()) figure.nodes.emplace_back(std::move(table));
    if (!more.empty()) {
      figure.nodes.emplace_back(
          Sentences{{{model.model, Tone::kNeutral, fmt::format("{} more kinds are in csv and json", more.size())}}});
    }
    if (!refused.rows.empty()) figure.nodes.emplace_back(std::move(refused));
  }
  figure.series = numbered_series(all.list());
  return figure;
}

}  // namespace rankfall
