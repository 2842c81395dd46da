#include "studies/layer_curves.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "view/number_text.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

// The rows behind one point.
Point merged_point(const Rows& rows, std::string variant) {
  Point point = point_of(*rows.front(), static_cast<double>(*rows.front()->layer), std::move(variant));
  if (rows.size() == 1) return point;
  point.low = point.high = std::nullopt;
  point.note.clear();
  double sum = 0;
  int n = 0;
  bool all_floor = true;
  for (const Row* row : rows) {
    all_floor = all_floor && row->status == Status::kRoundingFloor;
    if (row->n != point.n) point.n.reset();
    if (const auto value = finite(row->mean)) {
      sum += *value;
      ++n;
      point.low = std::min(point.low.value_or(*value), *value);
      point.high = std::max(point.high.value_or(*value), *value);
    }
  }
  point.value = n == 0 ? std::nullopt : finite(sum / n);
  if (!all_floor && point.status == Status::kRoundingFloor) point.status = Status::kNone;
  return point;
}

// What a metric's curves are of.
void describe(LayerCurves& of, bool by_head, bool by_seed, bool over_seeds) {
  const MetricInfo text = metric_info(of.metric);
  Curves& curves = of.curves;
  curves.title = of.model;
  curves.x = by_head ? "block" : "layer";
  curves.y = text.words;
  constexpr std::string_view kLog = "log10 of the ";
  if (text.is_log10() && curves.y.starts_with(kLog)) curves.y.erase(0, kLog.size());
  curves.share = text.is_share();
  curves.scale = text.is_log10() ? Scale::kLog10 : Scale::kBoth;
  curves.precisions = text.is_log10() && of.metric.find("residual") != std::string::npos;
  const bool bands = std::ranges::any_of(curves.points, [](const Point& point) { return point.low.has_value(); });
  curves.band = by_head || by_seed ? Band::kRange : bands ? Band::kDeviation : Band::kNone;
  curves.about = text.words + (text.formula.empty() ? "" : ": " + text.formula);
  if (by_head) curves.about += " · mean over heads, lowest..highest";
  if (by_seed) curves.about += " · mean over seeds, lowest..highest";
  std::set<std::optional<Index>> n;
  for (const Point& point : curves.points) n.insert(point.n);
  if (n.size() == 1 && *n.begin()) curves.mean = mean_words(of.metric, **n.begin(), over_seeds);
  if (text.is_share()) {  // a band goes no further than what it is a band of
    for (Point& point : curves.points) {
      if (point.low && point.value.value_or(0) >= 0) point.low = std::max(*point.low, 0.0);
    }
    const bool inside = std::ranges::all_of(curves.points, [](const Point& p) {
      return p.value.value_or(0) >= 0 && std::max(p.value.value_or(0), p.high.value_or(0)) <= 1.05;
    });
    if (inside && !text.is_log10()) curves.domain = {0, 1.05};
  }
}

}  // namespace

std::vector<LayerCurves> layer_curves(const Rows& rows) {
  struct Draft {
    LayerCurves of;
    std::map<std::pair<std::string, Index>, Rows> points;
    std::set<std::uint64_t> seeds;
    bool by_head = false, over_seeds = false;
  };
  std::map<std::tuple<std::string_view, std::string_view, bool>, std::size_t> places;
  std::map<std::string_view, std::size_t> model_order;
  std::vector<Draft> drafts;
  for (const Row* row : rows) {
    if (!is_layer_row(*row) || row->metric.starts_with("published.")) continue;
    const bool by_head = row->head.has_value();
    const auto [place, is_new] = places.try_emplace({row->model, row->metric, by_head}, drafts.size());
    if (is_new) {
      Draft& draft = drafts.emplace_back();
      draft.of.model = row->model;
      draft.of.metric = row->metric;
      draft.by_head = by_head;
      model_order.try_emplace(row->model, model_order.size());
    }
    Draft& draft = drafts[place->second];
    draft.of.variants.add(row->variant);
    draft.over_seeds = draft.over_seeds || row->kind == "seeds";
    if (row->seed) draft.seeds.insert(*row->seed);
    draft.points[{row->variant, *row->layer}].push_back(row);
  }
  std::ranges::stable_sort(drafts, {}, [&](const Draft& draft) { return model_order.at(draft.of.model); });
  std::vector<LayerCurves> out;
  for (Draft& draft : drafts) {
    for (const std::string& variant : draft.of.variants.list()) {
      for (auto place = draft.points.lower_bound({variant, std::numeric_limits<Index>::min()});
           place != draft.points.end() && place->first.first == variant; ++place) {
        draft.of.curves.points.push_back(merged_point(place->second, variant));
      }
    }
    describe(draft.of, draft.by_head, draft.seeds.size() > 1, draft.over_seeds);
    out.push_back(std::move(draft.of));
  }
  return out;
}

std::vector<Figure> head_maps(const Rows& rows) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, Rows>> maps;  // model, variant; metric
  std::vector<std::pair<std::string, std::string>> order;
  for (const Row* row : rows) {
    if (!is_layer_row(*row) || !row->head) continue;
    auto& metrics = maps[{row->model, row->variant}];
    if (metrics.empty()) order.emplace_back(row->model, row->variant);
    metrics[row->metric].push_back(row);
  }
  std::vector<Figure> figures;
  for (const auto& key : order) {
    Figure figure;
    figure.id = fmt::format("heads-{}", figures.size() + 1);
    figure.title = fmt::format("Heads of {} {}", key.first, key.second);
    figure.caption = "Each head of each block; block and head count from zero.";
    figure.detail = true;
    for (const auto& [metric, of_metric] : maps.at(key)) {
      const MetricInfo text = metric_info(metric);
      Heat heat;
      heat.title = heat.value = metric;
      if (!text.formula.empty()) heat.about = fmt::format("{}: {}", metric, text.formula);
      for (const Row* row : of_metric) heat.values.push_back({*row->layer, *row->head, finite(row->mean)});
      figure.nodes.emplace_back(std::move(heat));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

namespace {

// "0.61 → 0.018 → 7.0e-07"; a long way is shortened in the middle.
std::string way(const std::vector<const Point*>& curve, std::size_t end) {
  std::string out;
  for (std::size_t i = 0; i <= end; ++i) {
    if (end > 3 && i == 2) {
      out += " → …";
      i = end;
    }
    out += fmt::format("{}{}", i == 0 ? "" : " → ", significant(*curve[i]->value, 2));
  }
  return out;
}

std::pair<Tone, std::string> alive(const std::vector<const Point*>& curve) {
  const double first = *curve.front()->value, last = *curve.back()->value;
  const double layer = curve.back()->x;
  const std::string from = significant(first, 2), to = significant(last, 2);
  if (curve.size() == 1) return {Tone::kNeutral, fmt::format("is {} at layer {}", to, layer)};
  if (from == to) return {Tone::kGood, fmt::format("stays at {} up to layer {}", to, layer)};
  if (last > first) return {Tone::kGood, fmt::format("grows from {} to {} at layer {}", from, to, layer)};
  if (last >= 0.1 * first) return {Tone::kGood, fmt::format("keeps {} of {} at layer {}", to, from, layer)};
  // The layer from which on it stays below a tenth.
  auto low = curve.end();
  while (low != curve.begin() && *(*(low - 1))->value < 0.1 * first) --low;
  return {Tone::kWarning,
          fmt::format("falls from {} to {} at layer {}, below a tenth from layer {} on", from, to, layer, (*low)->x)};
}

std::pair<Tone, std::string> fate(const std::vector<const Point*>& curve, std::string_view precision) {
  if (curve.empty()) return {Tone::kNeutral, "has no finite value"};
  const auto floor = std::ranges::find(curve, Status::kRoundingFloor, &Point::status);
  if (floor == curve.end()) return alive(curve);
  const auto n_before = static_cast<std::size_t>(floor - curve.begin());
  const std::string where = fmt::format("the {}rounding floor", precision);
  if (const Point& last = *curve.back(); last.status != Status::kRoundingFloor) {
    return {Tone::kWarning, fmt::format("touches {} at layer {} and is {} at layer {}", where, (*floor)->x,
                                        significant(*last.value, 2), last.x)};
  }
  if (n_before == 0) return {Tone::kBad, fmt::format("is at {} from layer {} on", where, (*floor)->x)};
  return {Tone::kBad, fmt::format("reaches {} at layer {} ({})", where, (*floor)->x, way(curve, n_before))};
}

}  // namespace

Sentence finding(const LayerCurves& of, const std::string& variant, std::string_view precision) {
  std::vector<const Point*> curve;
  for (const Point& point : of.curves.points) {
    if (point.series == variant && point.value && point.source != "published") curve.push_back(&point);
  }
  const auto [tone, text] = fate(curve, precision);
  return {variant, tone, text};
}

Sentences findings(const LayerCurves& of, std::string_view precision) {
  Sentences out;
  for (const std::string& variant : of.variants.list()) out.list.push_back(finding(of, variant, precision));
  return out;
}

}  // namespace rankfall
