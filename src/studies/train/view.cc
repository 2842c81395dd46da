#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "studies/views.h"
#include "view/number_text.h"
#include "view/rows.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

// The properties that tell the curves of one metric apart.
struct Differs {
  std::set<std::string> models, kinds;
  std::set<std::optional<std::uint64_t>> seeds;
};

std::string network_name(const Row& row) { return RowGroup{row.model, row.variant, {}}.name(); }

// "train", "eval layer 3", "sort seed 1 train": as much as tells curves apart.
std::string curve_name(const Row& row, const Differs& differs) {
  std::vector<std::string> parts;
  if (differs.models.size() > 1) parts.push_back(network_name(row));
  if (differs.seeds.size() > 1 && row.seed) parts.push_back(fmt::format("seed {}", *row.seed));
  if (!row.kind.empty() && (differs.kinds.size() > 1 || !row.layer)) parts.push_back(row.kind);
  if (row.layer) parts.push_back(fmt::format("layer {}", *row.layer));
  return parts.empty() ? metric_info(row.metric).words : fmt::format("{}", fmt::join(parts, " "));
}

Figure epochs_figure(const std::string& metric, const Rows& rows, std::size_t number) {
  const MetricInfo text = metric_info(metric);
  Differs differs;
  for (const Row* row : rows) {
    differs.models.insert(network_name(*row));
    differs.kinds.insert(row->kind);
    differs.seeds.insert(row->seed);
  }
  Figure figure;
  figure.id = fmt::format("training-{}", number);
  figure.title = fmt::format("{} during training", title_case(text.words));
  figure.caption = "By number of epochs.";
  figure.detail = metric != "loss" && metric != "accuracy" && !metric.starts_with("relative_residual.");
  Curves curves;
  if (differs.models.size() == 1) curves.title = *differs.models.begin();
  curves.about = text.words + (text.formula.empty() ? "" : ": " + text.formula);
  curves.x = "epoch";
  curves.y = text.words;
  curves.series_title = "curve";
  curves.share = text.is_share();
  curves.wide = true;
  Names names;
  for (const Row* row : rows) {
    Point point = point_of(*row, static_cast<double>(*row->step), curve_name(*row, differs));
    point.low = point.high = std::nullopt;  // deviations are over batches or samples: one epoch's, not the curve's
    names.add(point.series);
    curves.points.push_back(std::move(point));
  }
  const bool by_layer = std::ranges::all_of(rows, [](const Row* row) { return row->layer.has_value(); });
  figure.series = by_layer ? ordered_series(names.list()) : numbered_series(names.list());
  figure.nodes.emplace_back(std::move(curves));
  return figure;
}

// "sort full: after 20 epochs loss 0.12 (train) and 0.15 (eval), accuracy 0.93 (eval)."
std::vector<Answer> training_answers(const std::map<std::string_view, Rows>& metrics) {
  constexpr std::size_t kMostAnswers = 3;
  std::map<std::string, std::pair<Index, std::vector<std::string>>> networks;  // last epoch, and what it reached
  std::vector<std::string> order;
  for (const std::string_view metric : {"loss", "accuracy"}) {
    const auto found = metrics.find(metric);
    if (found == metrics.end()) continue;
    std::map<std::pair<std::string, std::string>, const Row*> last;  // network and seed, kind
    for (const Row* row : found->second) {
      if (row->layer) continue;
      const std::string seed = row->seed ? fmt::format(" seed {}", *row->seed) : "";
      const Row*& best = last[{network_name(*row) + seed, row->kind}];
      if (!best || *best->step < *row->step) best = row;
    }
    for (const auto& [key, row] : last) {
      auto& [epoch, reached] = networks[key.first];
      if (std::ranges::find(order, key.first) == order.end()) order.push_back(key.first);
      epoch = std::max(epoch, *row->step);
      reached.push_back(fmt::format("{}{} {}", metric, key.second.empty() ? "" : " (" + key.second + ")",
                                    significant(*row->mean, 2)));
    }
  }
  std::vector<Answer> answers;
  for (const std::string& name : order) {
    if (answers.size() == kMostAnswers) break;
    const auto& [epoch, reached] = networks.at(name);
    answers.push_back(
        {Question::kTraining,
         fmt::format("{}: after {}, {}.", shortened(name),
                     counted(static_cast<std::size_t>(std::max<Index>(epoch, 0)), "epoch"), joined(reached)),
         Tone::kNeutral});
  }
  return answers;
}

}  // namespace

View train_view(const Result& result, const ViewOptions& /*options*/) {
  std::map<std::string_view, Rows> metrics;
  std::vector<std::string> order;
  for (const Row& row : result.rows) {
    if (!row.step || !finite(row.mean)) continue;
    Rows& rows = metrics[row.metric];
    if (rows.empty()) order.push_back(row.metric);
    rows.push_back(&row);
  }
  View view;
  for (const std::string& metric : order) {
    view.figures.push_back(epochs_figure(metric, metrics[metric], view.figures.size() + 1));
  }
  view.answers = training_answers(metrics);
  const auto shown = std::ranges::count(view.figures, false, &Figure::detail);
  if (shown < std::ssize(view.figures)) {
    view.notes.push_back(fmt::format("Showing {} of {} metrics.", shown, view.figures.size()));
  }
  return view;
}

}  // namespace rankfall
