#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/views.h"
#include "view/rows.h"

namespace rankfall {
namespace {

// The networks of one width.
struct CircleModel {
  std::string name;
  std::vector<RowGroup> variants;
  std::optional<std::uint64_t> drawn;  // the smallest seed
  std::size_t n_seeds = 0;
};

std::vector<CircleModel> circle_models(const Result& result) {
  std::vector<CircleModel> models;
  for (const RowGroup& group : by_model(result)) {
    CircleModel& model = models.emplace_back();
    model.name = group.model;
    std::set<std::uint64_t> seeds;
    std::map<std::string_view, std::size_t> places;
    for (const Row* row : group.rows) {
      seeds.insert(row->seed.value_or(0));
      const auto [place, is_new] = places.try_emplace(row->variant, model.variants.size());
      if (is_new) model.variants.push_back({group.model, row->variant, {}});
      model.variants[place->second].rows.push_back(row);
    }
    model.drawn = *seeds.begin();
    model.n_seeds = seeds.size();
  }
  return models;
}

bool is_drawn_step(const Row& row, const CircleModel& model) { return row.step && row.seed.value_or(0) == model.drawn; }

// The two points in the plane, step by step; steps without a finite place are not drawn.
Tracks plane_tracks(const RowGroup& variant, const CircleModel& model) {
  Tracks tracks;
  tracks.title = variant.variant;
  std::map<Index, std::map<Index, std::pair<std::optional<double>, std::optional<double>>>> points;
  for (const Row* row : variant.rows) {
    if (!is_drawn_step(*row, model) || !row->k) continue;
    if (row->metric == "track.x") points[*row->k][*row->step].first = finite(row->mean);
    if (row->metric == "track.y") points[*row->k][*row->step].second = finite(row->mean);
  }
  for (const auto& [token, steps] : points) {
    Tracks::Track track;
    track.series = track.name = token == 0 ? "first point" : "second point";
    for (const auto& [step, point] : steps) {
      if (point.first && point.second) track.points.emplace_back(*point.first, *point.second);
    }
    if (!track.points.empty()) tracks.tracks.push_back(std::move(track));
  }
  return tracks;
}

Figure tracks_figure(const CircleModel& model, std::size_t number) {
  Figure figure;
  figure.id = fmt::format("tracks-{}", number);
  figure.title = fmt::format("Two tracks under recurrence, {}", model.name);
  figure.caption =
      "One block, trained to predict the next position of each of two points on a circle, applied recurrently to its "
      "own "
      "output.";
  figure.detail = number > 1;
  if (model.n_seeds > 1) {
    figure.notes.push_back(
        fmt::format("Seed {} of {} is drawn; the table of networks has all.", *model.drawn, model.n_seeds));
  }
  figure.series = numbered_series({"first point", "second point"});
  for (const RowGroup& variant : model.variants) {
    Tracks tracks = plane_tracks(variant, model);
    if (!tracks.tracks.empty()) figure.nodes.emplace_back(std::move(tracks));
  }
  return figure;
}

Curves distance_curves(const CircleModel& model) {
  Curves curves;
  curves.title = model.name + ": distance of the two tracks";
  curves.x = "step";
  curves.y = "distance";
  curves.scale = Scale::kLog;
  curves.only_drawn = true;
  for (const RowGroup& variant : model.variants) {
    for (const Row* row : with_metric(variant.rows, "distance")) {
      if (!is_drawn_step(*row, model)) continue;
      Point point = point_of(*row, static_cast<double>(*row->step), variant.variant);
      if (point.value && *point.value <= 0) {  // 0 has no place on a logarithmic axis
        if (*point.value == 0) point.note = "exactly 0";
        point.value.reset();
      }
      curves.points.push_back(std::move(point));
    }
  }
  return curves;
}

// A line for each network.
Table networks_table(const std::vector<CircleModel>& models) {
  using Kind = TableColumn::Kind;
  constexpr std::array<std::string_view, 4> kMetrics = {"loss.relative", "distance.left", "fall.steps", "track.turns"};
  const bool several = models.size() > 1;
  const bool seeds = std::ranges::any_of(models, [](const CircleModel& model) { return model.n_seeds > 1; });
  Table table;
  table.title = several || models.empty() ? "After the recurrence" : models.front().name + " after the recurrence";
  table.about =
      "loss relative to that of standing still; distance of the two tracks relative to their first; steps in which it "
      "falls from 90 % to 1 %; turns about the centre";
  if (several) table.columns.push_back({"model"});
  table.columns.push_back({"network"});
  if (seeds) table.columns.push_back({"seed", Kind::kCount});
  table.n_labels = table.columns.size();
  for (const auto& [title, kind] : {std::pair("loss", Kind::kNumber), std::pair("distance", Kind::kNumber),
                                    std::pair("steps", Kind::kCount), std::pair("turns", Kind::kNumber)}) {
    table.columns.push_back({title, kind});
  }
  table.columns.push_back({"outcome", Kind::kProse});
  for (const CircleModel& model : models) {
    for (const RowGroup& variant : model.variants) {
      std::map<std::uint64_t, std::vector<Cell>> lines;  // by seed
      for (const Row* row : variant.rows) {
        const auto* metric = std::ranges::find(kMetrics, row->metric);
        if (metric == kMetrics.end()) continue;
        std::vector<Cell>& line = lines[row->seed.value_or(0)];
        if (line.empty()) {
          if (several) line.emplace_back(model.name);
          line.emplace_back(variant.variant);
          if (seeds) line.emplace_back(Number(static_cast<double>(row->seed.value_or(0))));
          line.insert(line.end(), kMetrics.size(), Number());
          line.emplace_back("");
        }
        line[table.n_labels + static_cast<std::size_t>(metric - kMetrics.begin())] = Number(finite(row->mean));
        if (row->metric == "distance.left") line.back() = fmt::to_string(row->verdict);
      }
      for (auto& [seed, line] : lines) table.rows.push_back(std::move(line));
    }
  }
  return table;
}

// Which networks end with both points at one place.
std::vector<Answer> recurrence_answers(const std::vector<CircleModel>& models) {
  constexpr double kMet = 0.01;       // of the first distance
  constexpr double kUnlearned = 0.1;  // of the loss of standing still, as training judges it
  constexpr std::size_t kMostAnswers = 3;
  std::vector<Answer> answers;
  for (const CircleModel& model : models) {
    std::vector<std::string> met, apart, untrained;
    for (const RowGroup& variant : model.variants) {
      std::size_t n = 0, n_met = 0;
      const Rows losses = with_metric(variant.rows, "loss.relative");
      if (std::ranges::any_of(losses, [](const Row* row) { return finite(row->mean).value_or(0) >= kUnlearned; })) {
        untrained.push_back(shortened(variant.variant));
      }
      for (const Row* row : with_metric(variant.rows, "distance.left")) {
        if (!finite(row->mean)) continue;
        ++n;
        if (*row->mean < kMet) ++n_met;
      }
      if (n == 0) continue;
      const std::string name = shortened(variant.variant) + (n > 1 ? fmt::format(" ({} of {} seeds)", n_met, n) : "");
      (2 * n_met > n ? met : apart).push_back(name);
    }
    if (answers.size() == kMostAnswers || (met.empty() && apart.empty())) continue;
    std::string text;
    if (!met.empty()) text = fmt::format("The two tracks become one under {}.", joined(met));
    if (!apart.empty()) {
      text += fmt::format("{}They stay apart under {}.", text.empty() ? "" : " ", joined(apart));
    }
    if (!untrained.empty()) {
      text +=
          fmt::format(" Not every training of {} learned the step, so that its tracks say little.", joined(untrained));
    }
    if (models.size() > 1) text = fmt::format("{}: {}", shortened(model.name), text);
    answers.push_back({Question::kRecurrence, std::move(text), met.empty() ? Tone::kGood : Tone::kBad});
  }
  return answers;
}

}  // namespace

View circle_view(const Result& result, const ViewOptions& /*options*/) {
  const std::vector<CircleModel> models = circle_models(result);
  View view;
  view.answers = recurrence_answers(models);
  for (const CircleModel& model : models) view.figures.push_back(tracks_figure(model, view.figures.size() + 1));
  std::erase_if(view.figures, [](const Figure& figure) { return figure.nodes.empty(); });

  Figure distance;
  distance.id = "distance";
  distance.title = "Distance of the two tracks";
  distance.caption =
      "Two tracks that meet have become one token: the recurrence has collapsed. A curve ends where the distance is "
      "exactly 0.";
  Names variants;
  for (const CircleModel& model : models) {
    for (const RowGroup& variant : model.variants) variants.add(variant.variant);
    Curves curves = distance_curves(model);
    if (!curves.points.empty()) distance.nodes.emplace_back(std::move(curves));
  }
  distance.series = variant_series(variants.list());
  Table networks = networks_table(models);
  if (!networks.rows.empty()) distance.nodes.emplace_back(std::move(networks));
  view.figures.insert(view.figures.begin() + (view.figures.empty() ? 0 : 1), std::move(distance));
  return view;
}

}  // namespace rankfall
