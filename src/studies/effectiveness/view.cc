#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "studies/views.h"
#include "view/number_text.h"
#include "view/rows.h"

namespace rankfall {
namespace {

// Accuracies over all trainings; of single ones where there is nothing else.
Rows accuracies_of(const RowGroup& group) {
  Rows all = with_metric(group.rows, "accuracy");
  if (std::ranges::any_of(all, [](const Row* row) { return !row->seed; })) {
    std::erase_if(all, [](const Row* row) { return row->seed.has_value(); });
  }
  return all;
}

// Ways to choose paths, in the order of the columns.
constexpr std::array<std::string_view, 4> kWays = {"exact", "cumulative", "frozen", "rerun"};

Series way_series(const Row& row) {
  const Index n = row.k.value_or(0);
  if (row.kind == "exact") return {"all paths", "all paths of the length, exact"};
  if (row.kind == "cumulative") return {"all up to it", "all paths up to the length"};
  if (row.kind == "frozen") return {fmt::format("frozen {}", n), fmt::format("{} paths of the decomposition", n)};
  if (row.kind == "rerun") return {fmt::format("re-run {}", n), fmt::format("{} paths, re-run as published", n)};
  return {row.kind, row.kind};
}

// What a network's accuracy is compared with.
struct AccuracyLevel {
  std::string_view kind, words;
};
constexpr AccuracyLevel kWholeNetwork = {"model", "the whole network"};
constexpr std::array<AccuracyLevel, 2> kBaselines = {
    {{"baseline.position", "most frequent label per position"}, {"baseline.majority", "most frequent label"}}};
constexpr AccuracyLevel kCeiling = {"ceiling.without_positions", "upper limit without position information"};

const Row* level_row(const Rows& rows, const AccuracyLevel& level) {
  const auto found =
      std::ranges::find_if(rows, [&](const Row* row) { return !row->length && row->kind == level.kind && row->mean; });
  return found == rows.end() ? nullptr : *found;
}

double guessing_of(const Rows& rows) {
  double best = 0;
  for (const AccuracyLevel& level : kBaselines) {
    if (const Row* row = level_row(rows, level)) best = std::max(best, *row->mean);
  }
  return best;
}

// "0.501 ±0.027"
std::string accuracy_text(const Row& row) {
  return significant(*row.mean) + (row.std ? " ±" + significant(*row.std, 2) : "");
}

Sentences accuracy_findings(const Rows& rows) {
  Sentences out;
  if (const Row* row = level_row(rows, kWholeNetwork)) {
    const auto n = static_cast<std::size_t>(std::max<Index>(row->n.value_or(1), 0));
    out.list.push_back(
        {"whole network", Tone::kNeutral, fmt::format("{} ({})", accuracy_text(*row), counted(n, "training"))});
  }
  std::vector<std::string> parts;
  for (const AccuracyLevel& level : kBaselines) {
    if (const Row* row = level_row(rows, level))
      parts.push_back(fmt::format("{} {}", level.words, accuracy_text(*row)));
  }
  if (!parts.empty()) {
    out.list.push_back({"guessing", Tone::kNeutral, fmt::format("{}", fmt::join(parts, ", "))});
  }
  if (const Row* row = level_row(rows, kCeiling)) {
    out.list.push_back({"upper limit", Tone::kNeutral, "without position information " + accuracy_text(*row)});
  }
  // The best length of each way.
  std::map<std::pair<std::size_t, Index>, const Row*> best;
  for (const Row* row : rows) {
    const auto* way = std::ranges::find(kWays, row->kind);
    if (!row->length || !finite(row->mean) || way == kWays.end() || row->kind == "cumulative") continue;
    const Row*& found = best[{static_cast<std::size_t>(way - kWays.begin()), row->k.value_or(0)}];
    if (!found || *row->mean > *found->mean) found = row;
  }
  const double guessing = guessing_of(rows);
  parts.clear();
  for (const auto& [way, row] : best) {
    parts.push_back(fmt::format("{}: {} ({}{})", way_series(*row).name, *row->length, significant(*row->mean),
                                *row->mean > guessing ? "" : ", not above guessing"));
  }
  if (!parts.empty()) {
    out.list.push_back({"best length", Tone::kNeutral, fmt::format("{}", fmt::join(parts, "; "))});
  }
  return out;
}

std::optional<Answer> task_answer(const std::string& name, const Rows& rows) {
  const Row* whole = level_row(rows, kWholeNetwork);
  const Row* best = nullptr;
  for (const Row* row : rows) {
    if (row->kind != "exact" || !row->length || !finite(row->mean)) continue;
    if (!best || *row->mean > *best->mean) best = row;
  }
  if (!whole || !best) return {};
  constexpr double kBetter = 0.02;
  const double guessing = guessing_of(rows);
  const std::string what =
      *best->mean > guessing + kBetter
          ? fmt::format("paths of length {} alone reach {}", *best->length, significant(*best->mean, 2))
          : fmt::format("no length alone does better than guessing ({})", significant(guessing, 2));
  return Answer{Question::kTasks,
                fmt::format("{}: {}, the whole network {}.", shortened(name), what, significant(*whole->mean, 2)),
                Tone::kNeutral};
}

// The curves of one network, with lines across for what they are compared with; new series are added to the figure.
Curves accuracy_curves(const RowGroup& group, const Rows& rows, Figure& figure) {
  Curves curves;
  curves.title = group.name();
  curves.about =
      "accuracy of paths of one length alone: the sum of all of them and of all up to the length, and sets of N random "
      "paths as they are in the network (frozen N) or run by themselves (re-run N)";
  curves.x = "length";
  curves.y = "accuracy";
  curves.series_title = "paths";
  curves.scale = Scale::kLinear;
  curves.share = true;
  curves.domain = {0, 1.02};
  double longest = 0;
  const auto add = [&](const Row& row, double x, const Series& series) {
    if (std::ranges::find(figure.series, series.name, &Series::name) == figure.series.end()) {
      const auto same = static_cast<std::size_t>(std::ranges::count(figure.series, series.look, &Series::look));
      figure.series.push_back(series);
      figure.series.back().number = same;
    }
    curves.points.push_back(point_of(row, x, series.name));
  };
  for (const std::string_view way : kWays) {
    for (const Row* row : rows) {
      if (row->kind != way || !row->length) continue;
      longest = std::max(longest, static_cast<double>(*row->length));
      add(*row, static_cast<double>(*row->length), way_series(*row));
    }
  }
  for (const AccuracyLevel& level : {kWholeNetwork, kBaselines[0], kBaselines[1], kCeiling}) {
    const Row* row = level_row(rows, level);
    if (!row) continue;
    const std::string name(level.words);
    for (const double x : {0.0, longest}) {
      add(*row, x, {name, name, 0, Series::Look::kReference});
      curves.points.back().low = curves.points.back().high = std::nullopt;
    }
  }
  const bool bands = std::ranges::any_of(curves.points, [](const Point& point) { return point.low.has_value(); });
  curves.band = bands ? Band::kDeviation : Band::kNone;
  return curves;
}

}  // namespace

View effectiveness_view(const Result& result, const ViewOptions& /*options*/) {
  View view;
  Figure figure;
  figure.id = "lengths";
  figure.title = "Accuracy of paths of each length";
  figure.caption =
      "How well paths of one length alone do the task: the exact sum of all of them, and sets of random ones as "
      "published (re-run) and as they are in the network.";
  bool bands = false;
  const std::vector<RowGroup> groups = by_variant(result);
  for (const RowGroup& group : groups) {
    const Rows rows = accuracies_of(group);
    Curves curves = accuracy_curves(group, rows, figure);
    if (curves.points.empty()) continue;
    bands = bands || curves.band == Band::kDeviation;
    figure.nodes.emplace_back(std::move(curves));
    Sentences found = accuracy_findings(rows);
    if (groups.size() > 1) {
      for (Sentence& one : found.list) one.subject = fmt::format("{}, {}", shortened(group.name()), one.subject);
    }
    figure.nodes.emplace_back(std::move(found));
    if (auto answer = task_answer(group.model, rows)) view.answers.push_back(std::move(*answer));
  }
  if (bands) figure.notes.emplace_back("Bands are one standard deviation over trainings.");
  view.figures.push_back(std::move(figure));
  return view;
}

}  // namespace rankfall
