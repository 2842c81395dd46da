#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "studies/paths/figures.h"
#include "view/number_text.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

constexpr std::string_view kResidualShare = "paths.share.residual";
constexpr std::string_view kProjectionShare = "paths.share.projection";

bool is_path_total(const Row& row) { return row.origin && row.origin->kind == Origin::Kind::kAll; }

// Sums over paths that make up the output: rows of the last layer, or those of the output itself where a final norm
// makes that another state.
struct OutputSums {
  Index layer = -1;
  Rows rows;
};
OutputSums output_sums(const Rows& rows) {
  OutputSums sums;
  bool apart = false;
  for (const Row* row : rows) {
    if (!row->origin || !row->metric.starts_with("paths.")) continue;
    sums.layer = std::max(sums.layer, row->layer.value_or(-1));
    apart = apart || row->kind == "output";
  }
  std::ranges::copy_if(rows, std::back_inserter(sums.rows), [&](const Row* row) {
    return row->origin && !row->sample && row->metric.starts_with("paths.") && row->layer == sums.layer &&
           (row->kind == "output") == apart;
  });
  return sums;
}

// One kind of share over lengths: parts by origin, those of single blocks added up, and their total.
Curves share_curves(const OutputSums& output, std::string_view metric, Names& origins) {
  Curves curves;
  curves.x = "length";
  curves.series_title = "origin";
  curves.stacked = curves.share = true;
  curves.label_title = "paths";
  std::map<std::pair<std::string, Index>, Point> points;
  std::optional<Index> n;
  for (const Row* row : output.rows) {
    if (!row->length) continue;
    if (row->metric == "paths.count" && is_path_total(*row)) {
      curves.labels.emplace_back(static_cast<double>(*row->length), whole_text(*row, 9));
    }
    if (row->metric != metric) continue;
    n = row->n;
    const std::string origin = to_string(Origin{row->origin->kind, {}});
    if (!is_path_total(*row)) origins.add(origin);
    Point& point = points[{origin, *row->length}];
    point.x = static_cast<double>(*row->length);
    point.series = origin;
    if (const auto value = finite(row->mean)) point.value = finite(point.value.value_or(0) + *value);
  }
  for (auto& [key, point] : points) curves.points.push_back(std::move(point));
  if (n) curves.about = mean_words(metric, *n, false);
  return curves;
}

// Origins of each block, all lengths together.
Table origin_table(const OutputSums& output, const std::string& name) {
  using Kind = TableColumn::Kind;
  constexpr std::array<std::string_view, 3> kShares = {"residual", "projection", "norm"};
  Table table;
  table.title = name + ": share by origin";
  table.about = "all lengths together: share of the output's residual, of the output, and of the sum of norms";
  table.columns = {{"origin"}, {"residual", Kind::kShare}, {"projection", Kind::kShare}, {"norm", Kind::kShare}};
  std::map<std::string, std::size_t> lines;
  for (const Row* row : output.rows) {
    if (row->length || is_path_total(*row)) continue;
    for (std::size_t s = 0; s < kShares.size(); ++s) {
      if (row->metric != fmt::format("paths.share.{}", kShares.at(s))) continue;
      const std::string origin = to_string(*row->origin);
      const auto [line, is_new] = lines.try_emplace(origin, table.rows.size());
      if (is_new) table.rows.push_back({origin, Number(), Number(), Number()});
      table.rows[line->second][s + 1] = Number(finite(row->mean));
    }
  }
  return table;
}

// Which lengths keep the residual.
std::string residual_words(const std::map<Index, double>& shares) {
  if (shares.empty()) {
    return "The residual of the output is zero or rounding, so there are no shares of it; rankfall collapse follows it "
           "further.";
  }
  const auto largest = std::ranges::max_element(shares, {}, [](const auto& share) { return share.second; });
  double sum = 0, weighted = 0, sizes = 0;
  std::optional<Index> most;  // from there on the sum stays above 0.9
  for (const auto& [length, share] : shares) {
    sum += share;
    if (sum < 0.9) most.reset();
    if (sum >= 0.9 && !most) most = length;
    weighted += std::abs(share) * static_cast<double>(length);
    sizes += std::abs(share);
  }
  if (largest->second <= 0) return "No length has a positive share.";
  std::string text =
      fmt::format("Paths of length {} have the largest share, {}", largest->first, significant(largest->second, 2));
  if (most && *most > largest->first) text += fmt::format("; all up to length {} together, 0.9 or more", *most);
  return text + fmt::format(". Mean length, weighted by share: {:.2f}.", weighted / sizes);
}

Sentences length_findings(const Rows& rows, const OutputSums& output) {
  std::map<Index, double> shares;
  for (const Row* row : output.rows) {
    const auto share = finite(row->mean);
    if (row->metric == kResidualShare && row->length && is_path_total(*row) && share) shares[*row->length] = *share;
  }
  Sentences out;
  out.list.push_back({"residual", Tone::kNeutral, residual_words(shares)});
  std::optional<double> error, cancellation;
  for (const Row* row : rows) {
    if (row->metric == "reconstruction_error" && row->mean) error = std::max(error.value_or(0), *row->mean);
    if (row->metric == "paths.cancellation") cancellation = row->mean;
  }
  if (cancellation) {
    out.list.push_back({"cancellation", Tone::kNeutral,
                        fmt::format("The norms of all lengths sum to {} times the norm of the output: Σ‖Yₖ‖ / ‖Y‖.",
                                    significant(*cancellation))});
  }
  if (error) {
    out.list.push_back({"check", Tone::kNeutral,
                        fmt::format("The sum over all paths is the forward pass, with a relative error of {} at most "
                                    "(reconstruction_error).",
                                    significant(*error, 1))});
  }
  return out;
}

}  // namespace

std::optional<Figure> paths_by_length(const RowGroup& group, std::size_t number) {
  const OutputSums output = output_sums(group.rows);
  Figure figure;
  figure.id = fmt::format("lengths-{}", number);
  figure.title = "What paths of each length contribute";
  figure.caption = fmt::format(
      "Contribution of all paths of each length to the output (layer {}) of {}, by origin: exact sums. The bars of a "
      "panel add up to 1.",
      output.layer, group.name());
  Names origins;
  for (const auto& [metric, words] :
       {std::pair(kResidualShare, "share of the residual"), std::pair(kProjectionShare, "share of the output")}) {
    Curves curves = share_curves(output, metric, origins);
    if (curves.points.empty()) continue;
    curves.title = fmt::format("{}: {} by path length", group.name(), words);
    curves.y = words;
    curves.about =
        fmt::format("{}, Yₖ: all paths through k heads, Y: the output (layer {}){}{}", metric_info(metric).formula,
                    output.layer, curves.about.empty() ? "" : " · ", curves.about);
    curves.only_drawn = !figure.nodes.empty();
    figure.nodes.emplace_back(std::move(curves));
  }
  if (figure.nodes.empty()) return {};
  const std::string all = to_string(Origin{Origin::Kind::kAll, {}});
  figure.series = numbered_series(origins.list());
  figure.series.insert(figure.series.begin(), {all, all, 0, Series::Look::kTotal});
  const bool by_block = std::ranges::any_of(output.rows, [](const Row* row) { return row->origin->block.has_value(); });
  if (by_block) figure.nodes.emplace_back(origin_table(output, group.name()));
  figure.nodes.emplace_back(length_findings(group.rows, output));
  return figure;
}

std::optional<Answer> paths_answer(const RowGroup& group) {
  std::optional<double> zero, one;
  for (const Row* row : output_sums(group.rows).rows) {
    if (row->metric != kResidualShare || !is_path_total(*row)) continue;
    if (row->length == Index{0}) zero = finite(row->mean);
    if (row->length == Index{1}) one = finite(row->mean);
  }
  if (!zero || !one) return {};
  return Answer{Question::kPaths,
                fmt::format("{}: paths without any head hold {} of the output's residual, those through one head {}.",
                            shortened(group.model), significant(*zero, 2), significant(*one, 2)),
                Tone::kNeutral};
}

}  // namespace rankfall
